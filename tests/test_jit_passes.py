"""The analysis of names and the passes over the tree: alone, on plain Python."""
from __future__ import annotations

import ast
import textwrap

import pytest
import random_programs

import minipaddle as paddle
from minipaddle import jit_passes, jit_runtime, jit_scopes, jit_source


def body(text):
    return ast.parse(textwrap.dedent(text)).body


# ---- names
@pytest.mark.parametrize("text, stores, loads", [
    ("a, (b, *c) = d", {"a", "b", "c"}, {"d"}),
    ("a.b[c] = d", set(), {"a", "c", "d"}),
    ("a += b", {"a"}, {"a", "b"}),
    ("x = [i * k for i in y if (m := i) > z]", {"x", "m"}, {"y", "k", "z"}),
    ("f = lambda a, b=c: a + d", {"f"}, {"c", "d"}),
    ("def f(a, b=c):\n    e = a + g\n    return e", {"f"}, {"c", "g"}),
    ("import a.b, c as d", {"a", "d"}, set()),
    ("with a as b, c: pass", {"b"}, {"a", "c"}),
    ("del a", {"a"}, set()),
    ("try:\n    a = b\nexcept E as e:\n    pass", {"a", "e"}, {"b", "E"}),
    ("match a:\n    case [b, *c] if d: pass\n    case {'k': e, **f}: pass",
     {"b", "c", "e", "f"}, {"a", "d"}),
    ("class A(B):\n    x = y", {"A"}, {"B", "y"}),
])
def test_names(text, stores, loads):
    found = jit_scopes.names_of(body(text))
    assert found.stores == stores and found.loads == loads


@pytest.mark.parametrize("text, after, live", [
    ("a = b", {"a"}, {"b"}),
    ("a = b\nb = c", {"a", "b"}, {"b", "c"}),
    ("if a: b = c", {"b"}, {"a", "b", "c"}),
    ("if a: b = 1\nelse: b = 2", {"b"}, {"a"}),
    ("while a: b = b + c", set(), {"a", "b", "c"}),
    ("for i in a: b = i", {"b", "i"}, {"a", "b", "i"}),
    ("for i in a:\n    t = i\n    b = t", {"b"}, {"a", "b", "i"}),
    ("with a as b: c = b", {"c"}, {"a"}),
    ("try:\n    a = f()\nexcept E:\n    a = b", {"a"}, {"a", "f", "E", "b"}),
    ("return a", {"z"}, {"a"}),
])
def test_liveness(text, after, live):
    assert jit_scopes.live_before(body(text), after) >= live - {"i"}
    assert jit_scopes.live_before(body(text), after) <= live


def test_captured_and_free_names():
    f, = body("""
        def f(a):
            b = 1
            def g(c):
                nonlocal b
                b = a + c + d
            return g
    """)
    assert jit_scopes.captured(f) == {"a", "b", "d"} and jit_scopes.free_names(f) == {"d"}


# ---- every pass leaves valid Python with the same meaning
PROGRAMS = {
    "ternary": ("lambda a, b: (a if a > b else b, not a, a and b, a or b)", [(1, 2), (3, 0)]),
    "exits": ("""
        def f(a, b):
            out = []
            for i in range(a):
                if i == b:
                    out.append('skip')
                    continue
                for j in range(i):
                    if j == 3:
                        break
                    if i + j > 7:
                        return out, 'returned', i, j
                    out.append((i, j))
                else:
                    out.append('full')
            else:
                out.append('end')
            while a > 0:
                a -= 1
                if a == 1:
                    break
            else:
                out.append('no break')
            return out, a
    """, [(2, 5), (9, 1), (5, 3), (0, 0), (1, 1)]),
    "unbound": ("""
        def f(a, b):
            if a > 0:
                late = a
            if b:
                return late
            del a
            return 0
    """, [(1, 1), (1, 0), (-1, 0)]),
    "match": ("""
        def f(a, b):
            match (a, b):
                case (0, _):
                    r = 'zero'
                case (int(x), str(y)) if x > 1:
                    r = x, y
                case (x, [first, *rest]) | (first, {'k': x, **rest}):
                    r = x, first, rest
                case _:
                    r = None
            return r
    """, [(0, 1), (2, "s"), (1, "s"), (5, [1, 2, 3]), (5, {"k": 1, "l": 2})]),
    "try": ("""
        def f(a, b):
            log = []
            for i in range(3):
                try:
                    log.append(i)
                    if i == a:
                        raise ValueError(i)
                    if i == b:
                        return log, 'out'
                    k = 10 // (i - 1)
                except ZeroDivisionError as e:
                    log.append(type(e).__name__)
                    continue
                except ValueError:
                    k = -1
                    break
                else:
                    log.append('fine')
                finally:
                    log.append('done')
                log.append(k)
            return log
    """, [(0, 0), (2, 5), (5, 2), (5, 5)]),
    "scopes": ("""
        def f(a, b):
            total, step = 0, 1
            def add(n):
                nonlocal total
                if n > 1:
                    total += n * step
                return total
            fs = [lambda x, k=k: x * k if x > 1 else k for k in range(3)]
            if a > 1:
                step = 2
            squares = {k: v for k, v in enumerate([add(a), add(b)]) if v > 0 or k}
            while (c := a - 1) > 0 and b < 5:
                a = c
                b += 1
            first, *rest = sorted([a, b, total])
            return total, squares, a, b, c, first, rest, [g(a) for g in fs], 0 < a < 5 != b
    """, [(1, 2), (3, 4), (0, 0)]),
    "stores": ("""
        class Box:
            pass
        def f(a, b):
            box, table = Box(), {'n': 1}
            box.items = [a]
            for i in range(b):
                box.items.append(i)
                table['n'] += i
                if i > 1:
                    box.last, table[i] = i, box.items[-1]
                    box.items[0] *= 2
            text = f'{a:>3}|{b!r}|{table["n"]:{a + 2}d}'
            return vars(box), table, text, 3 in table, 'n' not in table
    """, [(1, 2), (2, 4), (0, 0)]),
}


def run(f, args):
    try:
        return "value", f(*args)
    except Exception as error:                      # kinds of errors are compared too
        return "error", type(error)


def stages(text, name):
    """The function as written, then after each pass."""
    text = textwrap.dedent(text)
    for count in range(len(jit_passes.PASSES) + 1):
        tree = ast.parse(text)
        node = tree.body[-1]
        place = node
        if isinstance(node, ast.Expr):
            node = node.value
        context = jit_passes.Context(node)
        for kind in jit_passes.PASSES[:count]:
            node = kind(context).visit(node)
        if isinstance(place, ast.Expr):
            tree.body[-1] = ast.Assign(targets=[ast.Name("f", ast.Store())], value=node)
        else:
            tree.body[-1] = node
        again = ast.unparse(ast.fix_missing_locations(tree))
        space = {"_jit": jit_runtime, "paddle": paddle}
        exec(compile(again, name, "exec"), space)
        yield count, space["f"], again


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_keep_the_meaning(name):
    text, inputs = PROGRAMS[name]
    want = None
    for count, f, again in stages(text, name):
        got = [run(f, args) for args in inputs]
        want = got if want is None else want
        assert got == want, f"after pass {count}:\n{again}"


@pytest.mark.parametrize("seed", range(25))
def test_passes_keep_the_meaning_of_random_programs(seed):
    text, want = random_programs.write(seed), None
    for count, f, again in stages(text, f"random_{seed}"):
        x, y = paddle.to_tensor([0.3, -1.2, 0.8]), paddle.to_tensor([1.0, 0.1, -0.4])
        kind, got = run(f, (x, y, paddle.to_tensor(2)))
        if kind == "value":
            got = [v.tolist() if hasattr(v, "tolist") else v for v in got]
        want = (kind, got) if want is None else want
        assert (kind, got) == want, f"after pass {count}:\n{again}"


def test_no_control_flow_of_the_user_is_left():
    node = jit_passes.convert(body("""
        def f(x, n):
            for i in range(n):
                if x > i and not n:
                    return x
                while x:
                    x -= 1
                    if x == 3: break
            return n if n else x
    """)[0])
    kinds = {type(n) for n in ast.walk(node)}
    assert not kinds & {ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.IfExp, ast.BoolOp}


# ---- finding and building
def test_source_of_lambdas_on_one_line():
    f = lambda x: x + 1; g = lambda x: x - 1; h = lambda x: (lambda y: y * 2)(x)  # noqa: E702,E731
    for function, text in ((f, "x + 1"), (g, "x - 1"), (h, "(lambda y: y * 2)(x)")):
        assert ast.unparse(jit_source.find(function).node.body) == text


def test_positions_and_names_are_the_users():
    def f(x):
        if x > 0:
            raise KeyError("here")
        return x

    made = jit_runtime.convert_function(f)
    assert made.__name__ == "f" and made.__code__.co_filename == __file__
    with pytest.raises(KeyError) as caught:
        made(1)
    last = caught.traceback[-1]
    assert str(last.path) == __file__ and "raise KeyError" in str(last.statement)


def test_cells_and_globals_are_shared():
    count = 0

    def f():
        nonlocal count
        count += 1
        return count

    made = jit_runtime.convert_function(f)
    assert (made(), f(), made(), count) == (1, 2, 3, 3)
    assert made.__globals__ is globals()


class Parent:
    def name(self):
        return "parent"


class Child(Parent):
    __hidden = 7

    def name(self):
        if self.__hidden:
            return super().name() + str(self.__hidden)
        return "none"


def test_super_and_private_names():
    assert jit_runtime.convert_function(Child.name)(Child()) == "parent7"


def test_no_source():
    space: dict = {}
    exec("def made(x):\n    return x", space)
    with pytest.raises(jit_source.NoSource, match="made"):
        jit_source.find(space["made"])
