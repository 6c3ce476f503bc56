"""Runs an unmodified Paddle script on minipaddle: `python -m minipaddle run SCRIPT [args...]`.

`install` makes `paddle` and every `paddle.x.y` mean minipaddle; `run` then does what Python does
with a script. May import the package itself and the standard library.
"""
from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import types

import minipaddle

ALIAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "alias")


class _PaddleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `paddle` and `paddle.x.y`: the very module objects of minipaddle."""

    def find_spec(self, fullname, path=None, target=None):
        root, _, rest = fullname.partition(".")
        if root != "paddle":
            return None
        name = f"minipaddle.{rest}" if rest else "minipaddle"
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise                       # the module is there; something it needs is not
            raise ModuleNotFoundError(
                f"No module named {fullname!r} (minipaddle {minipaddle.__version__} has no "
                f"counterpart of it)", name=fullname) from None
        spec = importlib.machinery.ModuleSpec(fullname, self)
        spec.loader_state = module, module.__spec__
        return spec

    def create_module(self, spec):
        return spec.loader_state[0]

    def exec_module(self, module) -> None:
        # It has run under its own name; the import system has put the alias's spec on it.
        module.__spec__ = module.__spec__.loader_state[1]


def install() -> None:
    """Make `import paddle` mean minipaddle in this process, ahead of an installed PaddlePaddle.

    >>> import sys, minipaddle
    >>> install()
    >>> import paddle.nn.functional as F
    >>> F is minipaddle.nn.functional
    True
    >>> uninstall()
    >>> 'paddle' in sys.modules
    False
    """
    if not any(isinstance(finder, _PaddleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _PaddleFinder())
    _forget()
    sys.modules["paddle"] = minipaddle


def uninstall() -> None:
    """Undo `install`."""
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _PaddleFinder)]
    _forget()


def _forget() -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "paddle"]:
        del sys.modules[name]


def run(script: str, args: list[str]) -> int:
    """Run the file `script` as `python script args...` would, on minipaddle.

    Gives the exit status: 0, or 1 after an uncaught exception, whose traceback (as Python prints
    it, without the runner's own frames) goes to `sys.excepthook`; 2 when the file cannot be
    read. A `SystemExit` of the script passes through.
    """
    path = os.path.abspath(script)
    if os.path.isdir(path):                         # as `python folder` does
        folder, path = path, os.path.join(path, "__main__.py")
    else:
        folder = os.path.dirname(path)
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print(f"python -m minipaddle run: can't open {script!r}: {error.strerror}",
              file=sys.stderr)
        return 2
    install()
    sys.argv[:] = [script, *args]
    sys.path[:1] = [folder, ALIAS]                  # ALIAS: for the processes the script spawns
    main = types.ModuleType("__main__")
    main.__file__, main.__builtins__, main.__spec__ = path, builtins, None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    sys.modules["__main__"] = main
    try:
        try:
            code = compile(source, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise error.with_traceback(None) from None
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _fold(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _fold(error: BaseException | None) -> None:
    """Leave the runner's own frames out of an exception's traceback, and of those it came from."""
    seen: set = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        kept, trace = [], error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename != __file__:
                kept.append(trace)
            trace = trace.tb_next
        for trace, after in zip(kept, [*kept[1:], None]):
            trace.tb_next = after
        error.__traceback__ = kept[0] if kept else None
        error = error.__cause__ or error.__context__
