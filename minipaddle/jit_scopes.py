"""What names a piece of Python assigns, reads and needs afterwards.

Imports nothing of the package. Everything the passes do relies on this part. Comprehensions and
inner functions have scopes of their own; a walrus inside a comprehension has not.
"""
from __future__ import annotations

import ast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Names(ast.NodeVisitor):
    """Names stored and loaded by a statement in its own scope."""

    def __init__(self) -> None:
        self.stores: set = set()
        self.loads: set = set()

    def visit_Name(self, node):
        (self.loads if isinstance(node.ctx, ast.Load) else self.stores).add(node.id)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.loads.add(node.target.id)

    def visit_FunctionDef(self, node):
        self.stores.add(node.name)
        for d in node.decorator_list:
            self.visit(d)
        self._function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self._function(node)

    def _function(self, node):
        a = node.args
        for d in [*a.defaults, *[d for d in a.kw_defaults if d is not None]]:
            self.visit(d)
        self.loads |= free_names(node)

    def visit_ClassDef(self, node):
        self.stores.add(node.name)
        for d in [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]:
            self.visit(d)
        inner = _Names()
        for s in node.body:
            inner.visit(s)
        self.loads |= inner.loads

    def _comprehension(self, node):
        inner = _Names()
        bound = set()
        for g in node.generators:
            inner.visit(g.iter)
            target = _Names()
            target.visit(g.target)
            bound |= target.stores
            for c in g.ifs:
                inner.visit(c)
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                inner.visit(getattr(node, part))
        self.loads |= inner.loads - bound
        self.stores |= inner.stores

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Import(self, node):
        for a in node.names:
            self.stores.add((a.asname or a.name).split(".")[0])

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node):
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node):
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        if node.rest:
            self.stores.add(node.rest)
        self.generic_visit(node)


def names_of(nodes) -> _Names:
    """The names that nodes (a statement, an expression, a list) store and load."""
    found = _Names()
    for node in nodes if isinstance(nodes, list) else [nodes]:
        if node is not None:
            found.visit(node)
    return found


def assigned(nodes) -> set:
    return names_of(nodes).stores


def loaded(nodes) -> set:
    return names_of(nodes).loads


def parameters(node) -> list:
    """The parameter names of a function node."""
    a = node.args
    return [p.arg for p in [*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []),
                            *a.kwonlyargs, *([a.kwarg] if a.kwarg else [])]]


def declared(node) -> set:
    """The names that a function declares global or nonlocal, in its own scope."""
    found: set = set()
    for s in own_nodes(node):
        if isinstance(s, (ast.Global, ast.Nonlocal)):
            found |= set(s.names)
    return found


def own_nodes(node):
    """All nodes of a function's own scope: not those of inner functions and classes."""
    stack = list(node.body) if isinstance(node.body, list) else [node.body]
    while stack:
        n = stack.pop()
        yield n
        if not isinstance(n, (*_FUNCTIONS, ast.ClassDef)):
            stack += list(ast.iter_child_nodes(n))


def free_names(node) -> set:
    """The names that a function reads or writes of the scopes around it."""
    inner = _Names()
    for s in node.body if isinstance(node.body, list) else [node.body]:
        inner.visit(s)
    outer = declared(node) if isinstance(node.body, list) else set()
    own = (inner.stores | set(parameters(node))) - outer
    return (inner.loads | outer) - own


def captured(node) -> set:
    """The names of a function that its inner functions read or write at some later time."""
    found: set = set()
    for n in own_nodes(node):
        if isinstance(n, _FUNCTIONS):
            found |= free_names(n)
        elif isinstance(n, ast.ClassDef):
            for m in ast.walk(n):
                if isinstance(m, _FUNCTIONS):
                    found |= free_names(m)
    return found


def is_generator(node) -> bool:
    """Whether a function's own scope holds `yield` or `await`."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(node)
               if not isinstance(n, _FUNCTIONS))


# ---- liveness: what is read later
def live_before(stmts, after) -> set:
    """The names whose value on entry to a list of statements may still be read."""
    live = set(after)
    for s in reversed(stmts):
        live = _live_stmt(s, live)
    return live


def lives_after(stmts, after) -> list:
    """For each statement of a list the names that are live just after it."""
    found, live = [], set(after)
    for s in reversed(stmts):
        found.append(live)
        live = _live_stmt(s, live)
    return found[::-1]


def _live_stmt(s, after) -> set:
    if isinstance(s, ast.If):
        return loaded(s.test) | (live_before(s.body, after) | live_before(s.orelse, after)) - \
            assigned(s.test)
    if isinstance(s, ast.While):
        return loop_live(s, after)
    if isinstance(s, (ast.For, ast.AsyncFor)):
        return loop_live(s, after) | loaded(s.iter)
    if isinstance(s, (ast.With, ast.AsyncWith)):
        items = [i for i in s.items]
        return (live_before(s.body, after) - assigned(items)) | loaded(items)
    if isinstance(s, ast.Try) or type(s).__name__ == "TryStar":
        final = live_before(s.finalbody, after)
        rest = live_before(s.orelse, final)
        handlers = set(final)
        for h in s.handlers:
            handlers |= (live_before(h.body, final) - {h.name}) | loaded(h.type)
        # an exception may leave the body anywhere, so nothing in it kills a name
        return live_before(s.body, rest) | handlers | loaded(s.body)
    if isinstance(s, ast.Match):
        live = set(after)
        for c in s.cases:
            live |= live_before(c.body, after) | loaded(c.guard) | loaded(c.pattern)
        return live | loaded(s.subject)
    if isinstance(s, (ast.Return, ast.Raise)):
        return loaded(s)
    names = names_of(s)
    if isinstance(s, ast.Delete):
        return (after - names.stores) | names.loads
    return (after - names.stores) | names.loads


def loop_live(s, after) -> set:
    """The names live at the head of a loop: before its test, on every trip."""
    live = set(after) | live_before(s.orelse, after)
    target = assigned(s.target) if isinstance(s, (ast.For, ast.AsyncFor)) else set()
    test = s.test if isinstance(s, ast.While) else None
    while True:
        new = live | loaded(test) | (live_before(s.body, live) - target)
        if isinstance(s, (ast.For, ast.AsyncFor)):
            new |= loaded(s.target)
        if new == live:
            return live
        live = new
