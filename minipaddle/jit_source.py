"""Finding a function's text, and making a function of a changed tree.

Imports nothing of the package. A file is parsed once and whole, so positions and columns are the
user's own; the changed tree is compiled with the same file name, inside a factory that is never
called: its parameters are the free names, which binds them to the very cells of the original.
"""
from __future__ import annotations

import ast
import copy
import dis
import linecache
import sys
import types

_trees: dict = {}


class NoSource(Exception):
    """The text of a function cannot be found."""


class Found:
    """A function's node (a copy), the file it is in and the class it stands in."""

    def __init__(self, node, file: str, owner: str | None) -> None:
        self.node, self.file, self.owner = node, file, owner


def find(function) -> Found:
    """The tree of a Python function, lambda or method; NoSource when there is no text."""
    code = function.__code__
    file = code.co_filename
    fitting: list = []
    if not linecache.getlines(file):
        raise NoSource(f"{code.co_name}: its file {file} cannot be read")
    for node, owner in _functions_at(file, code.co_firstlineno):
        if isinstance(node, ast.Lambda):
            if code.co_name == "<lambda>" and _is_code_of(node, code):
                fitting.append((node, owner))
        elif node.name == code.co_name or _mangled(node.name, owner) == code.co_name:
            return Found(copy.deepcopy(node), file, owner)
    if fitting:                                     # the innermost lambda that holds the code
        node, owner = max(fitting, key=lambda f: (f[0].body.lineno, f[0].body.col_offset))
        return Found(copy.deepcopy(node), file, owner)
    raise NoSource(f"no source text for {code.co_name!r}: {file} has none at line "
                   f"{code.co_firstlineno}")


def _functions_at(file, line):
    """The (node, class name) of functions that begin at a line of a file."""
    lines = linecache.getlines(file)
    key = hash(tuple(lines))
    known = _trees.get(file)
    if known is None or known[0] != key:
        try:
            tree = ast.parse("".join(lines), file)
        except SyntaxError as error:
            raise NoSource(f"{file} is not Python text: {error}") from None
        index: dict = {}
        _index(tree, None, index)
        known = _trees[file] = (key, index)
    return known[1].get(line, ())


def _index(node, owner, index) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        first = min([d.lineno for d in node.decorator_list] + [node.lineno])
        index.setdefault(first, []).append((node, owner))
    elif isinstance(node, ast.Lambda):
        index.setdefault(node.lineno, []).append((node, owner))
    elif isinstance(node, ast.ClassDef):
        owner = node.name
    for child in ast.iter_child_nodes(node):
        _index(child, owner, index)


def _is_code_of(node: ast.Lambda, code) -> bool:
    """Whether a lambda is the one a code was compiled from: by position, or by what it does."""
    if sys.version_info < (3, 11):
        return _plain(node, code)
    body = node.body
    begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    return all(begin <= (p[0], p[2]) and (p[1], p[3]) <= end for p in places)


def _plain(node, code) -> bool:
    """Whether compiling the lambda alone gives the same steps (Python 3.10 keeps no columns)."""
    made = compile(ast.Expression(copy.deepcopy(node)), "<lambda>", "eval")
    made = [c for c in made.co_consts if isinstance(c, types.CodeType)][-1]
    return _steps(made) == _steps(code)


def _steps(code) -> list:
    """What a code does, the same whether its names are global or in cells."""
    return [("LOAD" if i.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME") else i.opname,
             _steps(i.argval) if isinstance(i.argval, types.CodeType) else
             None if i.opname in ("LOAD_CLOSURE", "LOAD_CONST") and "<lambda>" in str(i.argval)
             else i.argval) for i in dis.get_instructions(code)
            if i.opname not in ("LOAD_CLOSURE", "BUILD_TUPLE", "MAKE_FUNCTION")]


def _mangled(name: str, owner: str | None) -> str:
    """Python's own spelling of a private name in a class."""
    if owner and name.startswith("__") and not name.endswith("__") and "." not in name:
        return "_" + owner.lstrip("_") + name if owner.strip("_") else name
    return name


class Mangle(ast.NodeTransformer):
    """Spell private names as the class would: the tree is compiled outside of it."""

    def __init__(self, owner) -> None:
        self.owner = owner

    def visit_Attribute(self, node):
        self.generic_visit(node)
        node.attr = _mangled(node.attr, self.owner)
        return node

    def visit_Name(self, node):
        node.id = _mangled(node.id, self.owner)
        return node

    def visit_ClassDef(self, node):
        return node                                 # has private names of its own


_FUTURES = 0x1fe0000


def compile_like(function, node, file: str) -> types.CodeType:
    """The code of a changed tree, with the free names of `function` (and `_jit`) free in it."""
    code = function.__code__
    inner = ast.Return(node) if isinstance(node, ast.Lambda) else node
    if inner is node:
        node.name = "_made"                         # its own name must stay a global, or a cell
    free = list(code.co_freevars)
    factory = ast.FunctionDef(
        name="_factory", args=ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=n) for n in dict.fromkeys([*free, "_jit"])],
            kwonlyargs=[], kw_defaults=[], defaults=[], vararg=None, kwarg=None),
        body=[inner], decorator_list=[], returns=None, type_comment=None, type_params=[])
    ast.copy_location(factory, node)
    module = ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))
    compiled = compile(module, file, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    outer = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    made = [c for c in outer.co_consts if isinstance(c, types.CodeType)][-1]
    if inner is node:
        node.name = code.co_name
    made = made.replace(co_name=code.co_name)
    if sys.version_info >= (3, 11):
        made = made.replace(co_qualname=code.co_qualname)
    return made


def instantiate(function, code, runtime) -> types.FunctionType:
    """A function of other code with the globals, the cells and the defaults of `function`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells.setdefault("_jit", types.CellType(runtime))
    new = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                             tuple(cells[n] for n in code.co_freevars))
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__, new.__doc__ = function.__qualname__, function.__doc__
    new.__module__, new.__annotations__ = function.__module__, function.__annotations__
    new.__dict__.update({k: v for k, v in function.__dict__.items() if k != "__wrapped__"})
    return new


def codes_within(code):
    """A code object and all those nested in it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes_within(c)
