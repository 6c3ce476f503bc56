"""The command line, as a user meets it: each test starts a process of its own."""
from __future__ import annotations

import json
import os
import re
import sys
import textwrap

import pytest
from processes import minipaddle, python

pytestmark = pytest.mark.host_only("starts processes of its own")


@pytest.fixture
def script(tmp_path):
    """Writes a script, gives its path."""
    def write(text: str, name: str = "script.py") -> str:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return str(path)
    return write


# ---- arguments
@pytest.mark.parametrize("args", [
    (), ("fly",), ("demo", "--epochs", "0"), ("demo", "--epochs", "many"), ("demo", "--seed", "-1"),
    ("demo", "--device", "toaster"), ("demo", "extra"), ("run",), ("run", "--fast"),
    ("info", "now"), ("gradcheck", "--nonsense"),
])
def test_bad_arguments_get_usage_and_exit_code_2(args):
    done = minipaddle(*args)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m minipaddle")
    assert done.stdout == ""


@pytest.mark.parametrize("args", [("--help",), ("demo", "--help"), ("run", "--help")])
def test_help_goes_to_stdout(args):
    done = minipaddle(*args)
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m minipaddle")


def test_info_names_versions_devices_and_blas():
    import numpy as np
    rows = dict(line.split(maxsplit=1) for line in minipaddle("info").stdout.splitlines())
    assert rows["numpy"] == np.__version__
    assert rows["python"].startswith("%d.%d" % sys.version_info[:2])
    assert rows["devices"].startswith("cpu")
    assert rows["blas"] and int(rows["operations"]) > 0


# ---- run: the script sees what Python would show it
def test_run_gives_the_script_its_own_arguments_path_and_name(script):
    path = script("""
        import json, sys
        seen = [__name__, __file__, sys.argv, sys.path[0], __spec__, __builtins__.len([])]
        print(json.dumps(seen))
        sys.stdin.read()
    """)
    done = minipaddle("run", path, "--lr", "0.1", "--", "-x")
    name, file, argv, first, spec, length = json.loads(done.stdout)
    assert (name, file, spec, length) == ("__main__", path, None, 0)
    assert argv == [path, "--lr", "0.1", "--", "-x"]
    assert first == os.path.dirname(path)


def test_run_takes_a_relative_path_and_imports_what_lies_beside_the_script(script, tmp_path):
    script("VALUE = 41", "beside.py")
    script("import beside, sys; print(beside.VALUE + 1, sys.argv[0])", "main.py")
    done = minipaddle("run", os.path.join(tmp_path.name, "main.py"), cwd=tmp_path.parent)
    assert done.stdout == f"42 {os.path.join(tmp_path.name, 'main.py')}\n"


def test_every_dotted_name_is_minipaddles_own_module(script):
    path = script("""
        import sys
        import minipaddle
        import paddle
        import paddle.nn as nn
        import paddle.nn.functional as F
        import paddle.optimizer.lr
        import paddle.fluid.dygraph
        import paddle.vision.transforms as T
        from paddle.nn import Linear
        from paddle.nn.initializer import XavierUniform
        from paddle.static import InputSpec
        from paddle.fluid.dygraph import to_variable
        assert paddle is minipaddle and nn is minipaddle.nn and F is minipaddle.nn.functional
        assert paddle.optimizer.lr is minipaddle.optimizer.lr
        assert paddle.fluid is minipaddle.fluid and T is minipaddle.vision.transforms
        assert sys.modules["paddle.nn.functional"] is sys.modules["minipaddle.functional"]
        assert F.__name__ == F.__spec__.name == "minipaddle.functional"
        assert isinstance(Linear(2, 3)(paddle.ones([1, 2])), minipaddle.Tensor)
        print("same")
    """)
    assert minipaddle("run", path).stdout == "same\n"


def test_an_installed_paddlepaddle_is_not_picked_up(script, tmp_path):
    other = tmp_path / "site" / "paddle"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise SystemExit('the real one')")
    (other / "nn.py").write_text("raise SystemExit('the real one')")
    path = script("import paddle.nn; print(paddle.__name__)")
    done = minipaddle("run", path, PYTHONPATH=str(other.parent))
    assert (done.returncode, done.stdout) == (0, "minipaddle\n")


def test_a_module_that_minipaddle_lacks_is_named(script):
    done = minipaddle("run", script("import paddle.teleport"))
    assert done.returncode == 1
    assert "No module named 'paddle.teleport' (minipaddle" in done.stderr
    assert "run_script.py" not in done.stderr


# ---- run: how the script ends
@pytest.mark.parametrize("ending, status, said", [
    ("", 0, ""), ("import sys; sys.exit(7)", 7, ""), ("raise SystemExit", 0, ""),
    ("import sys; sys.exit('no data')", 1, "no data\n"),
    ("import atexit, sys; atexit.register(print, 'bye', file=sys.stderr)", 0, "bye\n"),
])
def test_exit_status_passes_through(script, ending, status, said):
    done = minipaddle("run", script(ending))
    assert (done.returncode, done.stderr) == (status, said)


def test_traceback_is_the_one_python_prints(script):
    path = script("""
        import sys

        def broken(x):
            return x.shape[5]

        class Box:
            shape = []

        try:
            broken(Box())
        except IndexError as error:
            raise KeyError("both") from error
    """)
    ours = minipaddle("run", path)
    plain = python(path)
    assert ours.returncode == plain.returncode == 1
    assert ours.stderr == plain.stderr


def test_syntax_error_is_the_one_python_prints(script):
    path = script("x = 1\nif x\n    pass\n")
    done = minipaddle("run", path)
    assert (done.returncode, done.stderr) == (1, python(path).stderr)


def test_an_error_inside_minipaddle_shows_the_scripts_line(script):
    path = script("""
        import paddle
        a = paddle.ones([2, 3])
        b = paddle.matmul(a, a)   # the shapes do not fit
    """)
    done = minipaddle("run", path)
    assert done.returncode == 1
    assert f'File "{path}", line 4, in <module>' in done.stderr
    assert "the shapes do not fit" in done.stderr
    assert "run_script.py" not in done.stderr and "runpy" not in done.stderr


def test_the_scripts_own_excepthook_is_used(script):
    done = minipaddle("run", script("""
        import sys
        sys.excepthook = lambda kind, error, trace: print("caught", kind.__name__, error)
        1 / 0
    """))
    assert (done.returncode, done.stdout) == (1, "caught ZeroDivisionError division by zero\n")


def test_a_missing_script_is_named(tmp_path):
    done = minipaddle("run", str(tmp_path / "nowhere.py"))
    assert done.returncode == 2 and "nowhere.py" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_that_the_script_starts_see_the_same_paddle(script, method):
    path = script(f"""
        import multiprocessing
        import paddle
        import paddle.nn.functional as F

        def work(value):
            import sys
            assert sys.argv[1:] == ["--workers"] and F is paddle.nn.functional
            return paddle.__name__, value + 1

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(pool.map(work, [1, 2]))
    """)
    done = minipaddle("run", path, "--workers")
    assert done.stdout == "[('minipaddle', 2), ('minipaddle', 3)]\n", done.stderr


def test_pickles_of_the_scripts_own_classes_work(script):
    done = minipaddle("run", script("""
        import pickle
        class Point:
            def __init__(self, x): self.x = x
        print(pickle.loads(pickle.dumps(Point(3))).x)
    """))
    assert done.stdout == "3\n", done.stderr


# ---- gradcheck
def test_gradcheck_prints_a_table(tmp_path):
    done = minipaddle("gradcheck", "multiply", "exp")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\W*multiply\b", done.stdout, re.M)
    assert re.search(r"^\W*exp\b", done.stdout, re.M)


def test_gradcheck_names_an_unknown_op():
    done = minipaddle("gradcheck", "no_such_op")
    assert done.returncode == 2
    assert "no_such_op" in done.stderr
