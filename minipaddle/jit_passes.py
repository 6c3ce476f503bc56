"""From the user's tree to the tree that is run while tracing: one pass for one kind of syntax.

Imports jit_scopes. Every pass leaves valid Python that means the same with plain values. What is
added calls `_jit`, whose functions (jit_runtime.py) do what Python does with plain values and
write operators with symbolic ones. Branches and loop bodies become functions from state to state.
"""
from __future__ import annotations

import ast
import copy

from . import jit_scopes as scopes

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
PREFIX = "_jit"


class Refused(Exception):
    """Syntax that cannot be converted; `node` says where."""

    def __init__(self, text: str, node) -> None:
        super().__init__(text)
        self.node = node


# ---- small makers
def load(name, at):
    return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), at)


def store(name, at):
    return ast.copy_location(ast.Name(id=name, ctx=ast.Store()), at)


def constant(value, at):
    return ast.copy_location(ast.Constant(value=value), at)


def assign(name, value, at):
    return ast.copy_location(ast.Assign(targets=[store(name, at)], value=value), at)


def jit(name, args, at):
    """The call `_jit.name(*args)`."""
    function = ast.copy_location(ast.Attribute(value=load(PREFIX, at), attr=name, ctx=ast.Load()),
                                 at)
    return ast.copy_location(ast.Call(func=function, args=args, keywords=[]), at)


def thunk(expression):
    """`lambda: expression`."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[],
                          vararg=None, kwarg=None)
    return ast.copy_location(ast.Lambda(args=empty, body=expression), expression)


def statement(expression):
    return ast.copy_location(ast.Expr(value=expression), expression)


def pack(items, at, ctx=None):
    return ast.copy_location(ast.Tuple(elts=items, ctx=ctx or ast.Load()), at)


def if_(test, body, orelse, at):
    return ast.copy_location(ast.If(test=test, body=body or [_pass(at)], orelse=orelse), at)


def not_(test, at):
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), at)


def or_(tests, at):
    if len(tests) == 1:
        return tests[0]
    return ast.copy_location(ast.BoolOp(op=ast.Or(), values=tests), at)


def _pass(at):
    return ast.copy_location(ast.Pass(), at)


def is_runtime(node) -> bool:
    """Whether a call is one that a pass added."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
        isinstance(node.func.value, ast.Name) and node.func.value.id == PREFIX


def has_walrus(node) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))


class Context:
    """What the passes over one function share: fresh names and where it stands."""

    def __init__(self, node) -> None:
        self.used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.used |= {n.name for n in ast.walk(node) if isinstance(n, _FUNCTIONS[:2])}
        self.used |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        self.used |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        self.fresh: set = set()

    def name(self, stem: str) -> str:
        found, k = stem, 1
        while found in self.used:
            k += 1
            found = f"{stem}_{k}"
        self.used.add(found)
        self.fresh.add(found)
        return found


class Pass(ast.NodeTransformer):
    """Base of the passes: comes to every function but generators, and not to code it made."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def visit_FunctionDef(self, node):
        if scopes.is_generator(node):
            return node
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self.arguments(node)
        node.body = self.function_body(node)
        return node

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_Lambda(self, node):
        self.arguments(node)
        node.body = self.visit(node.body)
        return node

    def arguments(self, node) -> None:
        a = node.args
        a.defaults = [self.visit(d) for d in a.defaults]
        a.kw_defaults = [d and self.visit(d) for d in a.kw_defaults]

    def visit_ClassDef(self, node):
        node.body = [self.visit(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node

    def function_body(self, node):
        return self.block(node.body)

    def block(self, stmts):
        out = []
        for s in stmts:
            s = self.visit(s)
            out += s if isinstance(s, list) else [s] if s is not None else []
        return out


# ---- 1: fewer forms
class Tidy(Pass):
    """No hints on locals; `match`, chained comparison, `assert`, `super()`, loop else and a walrus
    in a loop's test in terms of simpler things."""

    def visit_AnnAssign(self, node):
        if node.value is None:
            return _pass(node)
        self.generic_visit(node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)

    def visit_Assert(self, node):
        self.generic_visit(node)
        args = [node.test] + ([thunk(node.msg)] if node.msg is not None else [])
        return statement(jit("assert_", args, node))

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        parts = [node.left]
        for o, right in zip(node.ops, node.comparators):
            parts += [constant(_OPERATORS[type(o)], node), thunk(right)]
        return jit("compare", parts, node)

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and \
                not node.keywords and self.first:
            node.args = [load("__class__", node), load(self.first, node)]
        return node

    first = None

    def function_body(self, node):
        old, self.first = self.first, next(iter(scopes.parameters(node)), self.first)
        body = self.block(node.body)
        self.first = old
        return body

    def visit_While(self, node):
        if has_walrus(node.test):
            leave = if_(not_(node.test, node.test), [ast.copy_location(ast.Break(), node.test)],
                        [], node.test)
            node.test, node.body = constant(True, node.test), [leave, *node.body]
            if node.orelse:
                raise Refused("a `while ... else` whose test assigns with := cannot be converted; "
                              "assign in the body", node)
        return self.loop(node)

    def visit_For(self, node):
        return self.loop(node)

    def loop(self, node):
        self.generic_visit(node)
        if not node.orelse:
            return node
        orelse, node.orelse = node.orelse, []
        if not _exits_loop(node.body):
            return [node, *orelse]
        left = self.context.name(f"left_{node.lineno}")
        _mark_breaks(node.body, left)
        at = node.target if isinstance(node, ast.For) else node.test
        return [assign(left, constant(False, at), at), node,
                if_(not_(load(left, at), at), orelse, [], at)]

    def visit_Match(self, node):
        self.generic_visit(node)
        at = node.subject
        subject = self.context.name(f"subject_{node.lineno}")
        chain: list = []
        for case in reversed(node.cases):
            hit = self.context.name(f"case_{case.pattern.lineno}")
            where = case.pattern
            probe = ast.copy_location(ast.Match(subject=load(subject, at), cases=[ast.match_case(
                pattern=case.pattern, guard=None,
                body=[assign(hit, constant(True, where), where)])]), where)
            test = load(hit, where)
            if case.guard is not None:
                test = ast.copy_location(ast.BoolOp(op=ast.And(), values=[test, case.guard]),
                                         case.guard)
            chain = [assign(hit, constant(False, where), where), probe,
                     if_(test, case.body, chain, where)]
        return [assign(subject, node.subject, at), *chain]


_OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
              ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is",
              ast.IsNot: "is not"}


def _exits_loop(stmts) -> bool:
    """Whether a loop's body has a `break` of that loop."""
    return any(_has(s, (ast.Break,)) for s in stmts)


def _has(node, kinds, inner=False) -> bool:
    """Whether a statement holds one of `kinds` that belongs to the loop (or function) around."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return False
    if isinstance(node, (ast.For, ast.While, ast.AsyncFor)) and not inner:
        return any(_has(s, kinds) for s in node.orelse)
    return any(_has(c, kinds, inner) for c in ast.iter_child_nodes(node)
               if isinstance(c, (ast.stmt, ast.ExceptHandler, ast.match_case)))


def _mark_breaks(stmts, name) -> None:
    """Put `name = True` before every `break` of this loop."""
    for i in range(len(stmts) - 1, -1, -1):
        s = stmts[i]
        if isinstance(s, ast.Break):
            stmts.insert(i, assign(name, constant(True, s), s))
        elif not isinstance(s, (*_FUNCTIONS, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody") if not isinstance(
                    s, (ast.For, ast.While)) else ("orelse",):
                _mark_breaks(getattr(s, field, []), name)
            for h in [*getattr(s, "handlers", []), *getattr(s, "cases", [])]:
                _mark_breaks(h.body, name)


# ---- 2 and 3: return, break, continue
def always_leaves(stmts, kinds) -> bool:
    """Whether every way through the statements ends in one of `kinds` (or raises)."""
    for s in stmts:
        if isinstance(s, (*kinds, ast.Raise)):
            return True
        if isinstance(s, ast.If) and s.orelse and always_leaves(s.body, kinds) and \
                always_leaves(s.orelse, kinds):
            return True
        if isinstance(s, ast.With) and always_leaves(s.body, kinds):
            return True
    return False


class Exits(Pass):
    """Base of the two passes below: what follows a statement that may leave is put in the other
    branch where that is possible (the usual case), else under a flag."""

    kinds: tuple = ()
    inner = False                   # whether loops inside count too

    def leave(self, s) -> list:
        """What stands for the leaving statement s."""
        raise NotImplementedError

    def guard(self, at):
        """A test that is true where nothing has left."""
        raise NotImplementedError

    def has(self, s) -> bool:
        return _has(s, self.kinds, self.inner)

    def sequence(self, stmts) -> list:
        out: list = []
        for i, s in enumerate(stmts):
            if isinstance(s, self.kinds):
                return out + self.leave(s)
            if not self.has(s):
                out.append(s)
                continue
            rest = stmts[i + 1:]
            if isinstance(s, ast.If):
                if always_leaves(s.body, self.kinds) or not rest:
                    s.body, s.orelse = self.sequence(s.body), self.sequence(s.orelse + rest)
                    return out + [self.full(s)]
                if s.orelse and always_leaves(s.orelse, self.kinds):
                    s.body, s.orelse = self.sequence(s.body + rest), self.sequence(s.orelse)
                    return out + [self.full(s)]
            out += self.inside(s)
            rest = self.sequence(rest)
            return out + self.under(s, rest)
        return out

    def under(self, s, rest) -> list:
        """What follows s, done only where s has not left."""
        return [if_(self.guard(s), rest, [], _place(s))] if rest else []

    def full(self, s):
        s.body = s.body or [_pass(s)]
        return s

    def inside(self, s) -> list:
        """The statement s with its leaving statements replaced."""
        leaves = isinstance(s, ast.Try) and any(map(self.has, s.body))
        for field in ("body", "orelse", "finalbody"):
            old = getattr(s, field, None)
            if old and field == "orelse" and leaves:
                setattr(s, field, [if_(self.guard(s), self.sequence(old), [], _place(s))])
            elif old:
                setattr(s, field, self.sequence(old) or [_pass(s)])
        for h in [*getattr(s, "handlers", []), *getattr(s, "cases", [])]:
            h.body = self.sequence(h.body) or [_pass(h)]
        return [s]


def _place(s):
    """The part of a statement that stands for it in tracebacks."""
    for field in ("test", "iter"):
        if hasattr(s, field):
            return getattr(s, field)
    return s


class Returns(Exits):
    """One `return`, at the end."""

    kinds, inner = (ast.Return,), True

    def function_body(self, node):
        body = self.block(node.body)                # inner functions first
        deep = [s for s in body if not isinstance(s, ast.Return) and
                _has(s, (ast.Return,), True)]
        if not any(_in_control(s) for s in deep):
            return body
        outer = self.__dict__.get("names")
        self.names = self.context.name("_done"), self.context.name("_result")
        self.guarded = False
        after, complete = body[-1], always_leaves(body, (ast.Return,))
        new = self.sequence(body)
        done, result = self.names
        begin = [assign(done, constant(False, body[0]), body[0])] if self.guarded else []
        if not self.guarded:
            new = _without_stores(new, done)
        if not complete:
            begin.append(assign(result, constant(None, body[0]), body[0]))
        self.names = outer
        document = new[:1] if new and isinstance(new[0], ast.Expr) and isinstance(
            new[0].value, ast.Constant) else []
        return document + begin + new[len(document):] + [ast.copy_location(
            ast.Return(value=load(result, after)), after)]

    def leave(self, s):
        done, result = self.names
        out = [] if s.value is None else [assign(result, s.value, s)]
        if s.value is None:
            out = [assign(result, constant(None, s), s)]
        out.append(assign(done, constant(True, s), s))
        return out + ([ast.copy_location(ast.Break(), s)] if self.loops else [])

    loops = 0

    def inside(self, s):
        if not isinstance(s, (ast.For, ast.While)):
            return super().inside(s)
        self.loops += 1
        s.body = self.sequence(s.body)
        self.loops -= 1
        return [s]

    def under(self, s, rest):
        if self.loops and isinstance(s, (ast.For, ast.While)):
            # an inner loop that was left by return: leave this one too
            self.guarded, at = True, _place(s)
            return [if_(load(self.names[0], at), [ast.copy_location(ast.Break(), at)], rest, at)]
        return super().under(s, rest)

    def guard(self, s):
        self.guarded = True
        return not_(load(self.names[0], _place(s)), _place(s))


def _in_control(s) -> bool:
    """Whether a return stands in an if or a loop."""
    if isinstance(s, (ast.If, ast.For, ast.While, ast.Match)):
        return _has(s, (ast.Return,), True)
    return any(_in_control(c) for c in ast.iter_child_nodes(s)
               if isinstance(c, (ast.stmt, ast.ExceptHandler)) and not isinstance(
                   c, (*_FUNCTIONS, ast.ClassDef)))


class _Without(ast.NodeTransformer):
    def __init__(self, name) -> None:
        self.name = name

    def visit_Assign(self, node):
        t = node.targets[0]
        return None if isinstance(t, ast.Name) and t.id == self.name else node

    def visit_FunctionDef(self, node):
        return node

    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.ExceptHandler, ast.Try)) \
                and not node.body:
            node.body = [_pass(node)]
        return node


def _without_stores(stmts, name) -> list:
    """The statements without assignments to a flag that nobody reads."""
    out = [_Without(name).visit(s) for s in stmts]
    return [s for s in out if s is not None]


class Breaks(Exits):
    """No `break` and no `continue`: flags, and the loop's test asks the first."""

    kinds = (ast.Break, ast.Continue)

    def visit_For(self, node):
        self.generic_visit(node)                    # inner loops first
        if not any(map(self.has, node.body)):
            return node
        old = self.__dict__.get("names"), self.__dict__.get("guarded")
        at = _place(node)
        self.names = (self.context.name(f"stop_{node.lineno}"),
                      self.context.name(f"skip_{node.lineno}"))
        self.breaks = any(_has(s, (ast.Break,)) for s in node.body)
        self.guarded = False
        node.body = self.sequence(node.body)
        stop, skip = self.names
        guarded, breaks = self.guarded, self.breaks
        self.names, self.guarded = old
        if guarded:
            node.body = [assign(skip, constant(False, at), at), *node.body]
        else:
            node.body = _without_stores(node.body, skip)
        node.body = node.body or [_pass(at)]
        if not breaks:
            return node
        if isinstance(node, ast.While):
            asks = not_(load(stop, at), at)
            constant_true = isinstance(node.test, ast.Constant) and node.test.value
            node.test = asks if constant_true else ast.copy_location(
                ast.BoolOp(op=ast.And(), values=[asks, node.test]), at)
        else:                                       # the one `break` that is left; Regions knows it
            node.stop = stop
            node.body.append(if_(load(stop, at), [ast.copy_location(ast.Break(), at)], [], at))
        return [assign(stop, constant(False, at), at), node]

    visit_While = visit_For

    def leave(self, s):
        stop, skip = self.names
        out = [assign(stop, constant(True, s), s)] if isinstance(s, ast.Break) else []
        return out + [assign(skip, constant(True, s), s)]

    def guard(self, s):
        self.guarded = True
        return not_(load(self.names[1], _place(s)), _place(s))

    def inside(self, s):
        if isinstance(s, (ast.For, ast.While)):
            return [s]
        return super().inside(s)


# ---- 4, 5, 6: for, while, if as functions of state
class _Read(Pass):
    """Reads of names that may be unbound say so."""

    def __init__(self, names) -> None:
        self.names = names

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.names:
            return jit("read", [node, constant(node.id, node)], node)
        return node

    def visit_FunctionDef(self, node):
        return node

    def visit_ClassDef(self, node):
        return node

    def visit_Lambda(self, node):
        inner = _Read(self.names - set(scopes.parameters(node)))
        inner.arguments(node)
        node.body = inner.visit(node.body)
        return node


class Regions(Pass):
    """Branches and bodies become functions that take the names they assign and return them."""

    def function_body(self, node):
        body = self.block_of_functions(node.body)
        outer = self.__dict__.get("frame")
        self.frame = {"always": scopes.captured(node) & _own(node),
                      "outer": scopes.declared(node)}
        bound = set(scopes.parameters(node)) | self.frame["outer"]
        new, _, _ = self.convert(body, set(self.frame["always"]), bound, set())
        self.frame = outer
        return new

    def reader(self, maybe):
        """The pass that guards reads; names made by the passes need no guard."""
        return _Read(maybe - self.context.fresh)

    def block_of_functions(self, stmts):
        """Inner functions converted, wherever they stand."""
        for s in stmts:
            for n in _own_functions(s):
                Regions(self.context).visit(n)
        return stmts

    def convert(self, stmts, after, bound, maybe):
        """(statements, bound, maybe): names bound at the end, those that may hold `undefined`."""
        lives, out = scopes.lives_after(stmts, after), []
        bound, maybe = set(bound), set(maybe)
        for s, live in zip(stmts, lives):
            live = live | self.frame["always"]
            new, bound, maybe = self.one(s, live, bound, maybe)
            out += new
        return out or [], bound, maybe

    def one(self, s, live, bound, maybe):
        if isinstance(s, ast.If):
            return self.branch(s, live, bound, maybe)
        if isinstance(s, ast.While):
            return self.loop(s, live, bound, maybe)
        if isinstance(s, ast.For):
            return self.loop(s, live, bound, maybe)
        if isinstance(s, (ast.With, ast.Try, ast.Match)) or type(s).__name__ == "TryStar":
            return self.plain_block(s, live, bound, maybe)
        s = self.reader(maybe).visit(s)
        names = scopes.assigned(s)
        if isinstance(s, ast.Delete):
            kept = [t for t in s.targets if not isinstance(t, ast.Name)]
            gone = [t for t in s.targets if isinstance(t, ast.Name) and
                    t.id not in self.frame["outer"]]
            if len(kept) + len(gone) < len(s.targets):
                return [s], bound, maybe
            new = [assign(t.id, _undefined(t), s) for t in gone]
            s.targets = kept
            return ([s] if kept else []) + new, bound, maybe | {t.id for t in gone}
        return [s], bound | names, maybe - names

    def plain_block(self, s, live, bound, maybe):
        """with, try, match: their blocks stay blocks."""
        inside = set(live)
        if hasattr(s, "handlers"):
            inside |= scopes.live_before(s.finalbody, live) | scopes.loaded(s.finalbody)
            for h in s.handlers:
                inside |= scopes.live_before(h.body, inside) - {h.name}
            inside |= scopes.live_before(s.orelse, inside)
        first: list = []
        if not isinstance(s, ast.With):
            # a name bound in a part of it may be unbound afterwards: it begins as undefined
            risky = (scopes.assigned(s) - bound) & live
            first = [assign(n, _undefined(s), s) for n in sorted(risky)]
            bound, maybe = bound | risky, maybe | risky
        fine = scopes.assigned(list(s.items)) if isinstance(s, ast.With) else set()
        reader = self.reader(maybe)
        if isinstance(s, ast.With):
            for i in s.items:
                i.context_expr = reader.visit(i.context_expr)
            s.body, bound, maybe = self.convert(s.body, inside, bound | fine, maybe - fine)
            s.body = s.body or [_pass(s)]
            return [s], bound, maybe
        if isinstance(s, ast.Match):
            s.subject = reader.visit(s.subject)
            ends = [maybe]
            for c in s.cases:
                names = scopes.assigned(c.pattern)
                c.body, _, end = self.convert(c.body, inside, bound | names, maybe - names)
                ends.append(end)
            return first + [s], bound | scopes.assigned(s), set().union(*ends)
        s.body, _, end = self.convert(s.body, inside, bound, maybe)
        s.body = s.body or [_pass(s)]
        middle = maybe | end
        rest = end
        if s.orelse:
            s.orelse, _, rest = self.convert(s.orelse, inside, bound, end)
        ends = [rest]
        for h in s.handlers:
            names = {h.name} if h.name else set()
            if h.type is not None:
                h.type = reader.visit(h.type)
            leaves = always_leaves(h.body, ())
            h.body, _, done = self.convert(h.body, inside, bound | names, middle - names)
            h.body = h.body or [_pass(h)]
            if not leaves:
                ends.append(done | names)
        maybe = set().union(*ends)
        if s.finalbody:
            s.finalbody, _, over = self.convert(s.finalbody, live, bound, maybe | middle)
            maybe = maybe & over
        return first + [s], bound | scopes.assigned(s), maybe

    def branch(self, s, live, bound, maybe):
        at, line = s.test, s.lineno
        test = self.reader(maybe).visit(s.test)
        inside = scopes.assigned(s.body) | scopes.assigned(s.orelse)
        walrus = scopes.assigned(s.test)
        bound, maybe = bound | walrus, maybe - walrus
        needed = scopes.live_before(s.body, live) | scopes.live_before(s.orelse, live)
        gives = sorted(inside & live)
        takes = sorted(inside & (set(gives) | needed))
        # what a region assigns and does not take is its own, whatever it is outside
        known = (bound - inside) | set(takes)
        unsure = maybe | (set(takes) - bound)
        then, _, m1 = self.convert(s.body, set(gives), known, unsure)
        other, _, m2 = self.convert(s.orelse, set(gives), known, unsure)
        names = self.context.name(f"then_{line}"), self.context.name(f"else_{line}")
        out = [_region(names[0], takes, then, gives, at),
               _region(names[1], takes, other, gives, at)]
        call = jit("if_", [test, load(names[0], at), load(names[1], at),
                           _state(takes, bound, at), _texts(gives, at)], at)
        out.append(_give(gives, call, at))
        gives = set(gives)
        return out, bound | gives, (maybe - gives) | ((m1 | m2) & gives)

    def loop(self, s, live, bound, maybe):
        at, line = _place(s), s.lineno
        is_for = isinstance(s, ast.For)
        head = scopes.loop_live(s, live) | live
        stop = getattr(s, "stop", None)
        if stop:
            head.add(stop)
            s.body = s.body[:-1]
        inside = scopes.assigned(s.body) | (scopes.assigned(s.target) if is_for else set())
        state = sorted(inside & head)
        known = (bound - inside) | set(state)
        unsure = maybe | (set(state) - bound)
        body, m = list(s.body), set()
        test = self.reader(unsure).visit(s.test) if not is_for else None
        if is_for:
            item = self.context.name(f"item_{line}")
            target = s.target
            targets = scopes.assigned(target)
            body, _, m = self.convert(body, set(state), known | targets, unsure - targets)
            begin = ast.copy_location(ast.Assign(targets=[target], value=load(item, at)), at)
            body = [begin, *body]
            name = self.context.name(f"body_{line}")
            if isinstance(target, ast.Name) and target.id not in state:
                body, item = body[1:], target.id
            out = [_region(name, [item, *state], body, state, at)]
            args = [self.reader(maybe).visit(s.iter), load(name, at), _state(state, bound, at),
                    _texts(state, at)]
            if stop:
                args.append(constant(state.index(stop), at))
            call = jit("for_", args, at)
        else:
            body, _, m = self.convert(body, set(state), known, unsure)
            names = self.context.name(f"test_{line}"), self.context.name(f"body_{line}")
            ask = ast.copy_location(ast.Return(value=test), at)
            out = [_region(names[0], state, [ask], None, at),
                   _region(names[1], state, body, state, at)]
            call = jit("while_", [load(names[0], at), load(names[1], at),
                                  _state(state, bound, at), _texts(state, at)], at)
        out.append(_give(state, call, at))
        gives = set(state)
        return out, bound | gives, (maybe - gives) | ((unsure | m) & gives)


def _own(node) -> set:
    """The names that are local to a function node."""
    return (scopes.assigned(node.body) | set(scopes.parameters(node))) - scopes.declared(node)


def _own_functions(s):
    """The functions directly inside a statement (those inside of these are theirs)."""
    if isinstance(s, _FUNCTIONS):
        yield s
        return
    for c in ast.iter_child_nodes(s):
        yield from _own_functions(c)


def _undefined(at):
    return ast.copy_location(ast.Attribute(value=load(PREFIX, at), attr="undefined",
                                           ctx=ast.Load()), at)


def _state(names, bound, at):
    return pack([load(n, at) if n in bound else _undefined(at) for n in names], at)


def _texts(names, at):
    return pack([constant(n, at) for n in names], at)


def _give(names, call, at):
    if not names:
        return statement(call)
    target = pack([store(n, at) for n in names], at, ast.Store())
    return ast.copy_location(ast.Assign(targets=[target], value=call), at)


def _region(name, takes, body, gives, at):
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.copy_location(ast.arg(arg=n), at) for n in takes],
        kwonlyargs=[], kw_defaults=[], defaults=[], vararg=None, kwarg=None)
    body = list(body)
    if gives is not None:
        end = body[-1] if body else at
        end = end if not isinstance(end, (ast.FunctionDef, ast.ClassDef)) else at
        body.append(ast.copy_location(ast.Return(pack([load(n, end) for n in gives], end)), end))
    return ast.copy_location(ast.FunctionDef(
        name=name, args=arguments, body=body, decorator_list=[], returns=None, type_comment=None,
        type_params=[]), at)


# ---- 10 (before 9, which would wrap what it adds): stores go through the write log
class Stores(Pass):
    """`_jit.note(...)` before an attribute or item is stored: the old value is logged."""

    def visit_Assign(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Tuple):
            node.value.elts = [_new(v) for v in node.value.elts]
        node.value = _new(node.value)
        return [*self.notes(node.targets, node), node]

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            if not isinstance(node.op, (ast.Add, ast.BitOr, ast.Mult)):
                return node
            first = [statement(jit("note", [load(node.target.id, node)], node))]
            return first + [node]
        return [*self.notes([node.target], node), node]

    def visit_Delete(self, node):
        self.generic_visit(node)
        return [*self.notes(node.targets, node), node]

    def notes(self, targets, at) -> list:
        out = []
        for t in targets:
            for n in ast.walk(t):
                if not isinstance(getattr(n, "ctx", None), (ast.Store, ast.Del)) or not isinstance(
                        n, (ast.Attribute, ast.Subscript)) or not _repeatable(n.value):
                    continue
                args = [_copy_load(n.value, at)]
                if isinstance(n, ast.Attribute):
                    args.append(constant(n.attr, at))
                out.append(statement(jit("note", args, at)))
        return out


def _new(node):
    """A display of a list, dict or set says that it makes one."""
    if isinstance(node, (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set)):
        return jit("new", [node], node)
    return node


def _repeatable(node) -> bool:
    """Whether reading an expression twice is harmless."""
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return _repeatable(node.value)
    if isinstance(node, ast.Subscript):
        return _repeatable(node.value) and (isinstance(node.slice, ast.Constant) or
                                            _repeatable(node.slice))
    return False


def _copy_load(node, at):
    new = copy.deepcopy(node)
    for n in ast.walk(new):
        if hasattr(n, "ctx"):
            n.ctx = ast.Load()
    return new


# ---- 7: and, or, not, in, the ternary
class Logic(Pass):
    """Operators whose operands may be symbolic, or must not be computed."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if any(has_walrus(v) for v in node.values[1:]):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        out = node.values[-1]
        for v in reversed(node.values[:-1]):
            out = jit(name, [v, thunk(out)], node)
        return out

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return jit("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if has_walrus(node.body) or has_walrus(node.orelse):
            return node
        return jit("choose", [node.test, thunk(node.body), thunk(node.orelse)], node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if isinstance(node.ops[0], ast.In):
            return jit("in_", [node.left, node.comparators[0]], node)
        if isinstance(node.ops[0], ast.NotIn):
            return jit("not_", [jit("in_", [node.left, node.comparators[0]], node)], node)
        return node


# ---- 8 and 9: text and calls
class Calls(Pass):
    """Every call asks `_jit.call` what to call; f-strings may hold run-time values."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if is_runtime(node):
            return node
        node.func = jit("call", [node.func], node.func)
        return node

    def visit_JoinedStr(self, node):
        self.generic_visit(node)
        if not any(isinstance(v, ast.FormattedValue) for v in node.values):
            return node
        parts = []
        for v in node.values:
            if isinstance(v, ast.FormattedValue):
                spec = v.format_spec or constant("", node)
                parts.append(pack([v.value, constant(v.conversion, node), spec], node))
            else:
                parts.append(v)
        return jit("format", parts, node)

    def visit_FunctionDef(self, node):
        decorators, node.decorator_list = node.decorator_list, []
        node = super().visit_FunctionDef(node)
        node.decorator_list = decorators
        return node


PASSES = (Tidy, Returns, Breaks, Regions, Stores, Logic, Calls)


def convert(node, report=None):
    """Run all passes over a function's tree; `report(name, node)` is told after each."""
    if isinstance(node, ast.AsyncFunctionDef):
        raise Refused("an `async` function cannot be converted; make it an ordinary one", node)
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        if scopes.is_generator(node):
            raise Refused("a function with `yield` cannot be converted; return a list of the "
                          "values instead", node)
    context = Context(node)
    for kind in PASSES:
        node = kind(context).visit(node)
        ast.fix_missing_locations(node)
        if report is not None:
            report(kind.__name__, node)
    return node
