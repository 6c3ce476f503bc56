"""Every `xp.<name>(keyword=)` of the package exists in CuPy: checked against CuPy's own list."""
from __future__ import annotations

import os
import sys

from processes import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "strict_cupy"))
import check_xp_names  # noqa: E402


def test_the_package_uses_only_names_that_cupy_has(capsys):
    status = check_xp_names.main(["--xp", "xp,cp,cupy,_xp", "--methods",
                                  os.path.join(ROOT, "minipaddle")])
    out = capsys.readouterr().out
    assert status == 0, out
    assert int(out.split(" CuPy names used")[0].split()[-1]) > 60     # it does see the package


def test_arrays_reach_the_host_in_one_place_only():
    """`.get()` of a device array is called in device.asnumpy alone."""
    import ast
    package, found = os.path.join(ROOT, "minipaddle"), []
    for name in sorted(os.listdir(package)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(package, name), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        found += [name for node in ast.walk(tree) if isinstance(node, ast.Call)
                  and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
                  and not node.args and not node.keywords
                  and getattr(node.func.value, "id", "") != "self"]
        found += [name for node in ast.walk(tree) if isinstance(node, ast.Attribute)
                  and node.attr == "asnumpy" and isinstance(node.value, ast.Name)
                  and node.value.id in ("xp", "cp", "cupy")]
    assert found == ["device.py"]
