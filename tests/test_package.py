"""The package as a whole: what an import costs, what is shipped, what the README promises."""
from __future__ import annotations

import ast
import configparser
import fnmatch
import json
import os
import re

import pytest
from processes import ROOT, python

import minipaddle

pytestmark = pytest.mark.host_only("looks at files, not at tensors")

PACKAGE = os.path.join(ROOT, "minipaddle")


def read(*path: str) -> str:
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


# ---- what an import costs
def test_import_brings_in_numpy_and_little_else():
    done = python("-c", "import numpy, sys, json; before = set(sys.modules); import minipaddle; "
                        "print(json.dumps(sorted(set(sys.modules) - before)))")
    assert done.returncode == 0, done.stderr
    new = json.loads(done.stdout)
    heavy = {"matplotlib", "cupy", "scipy", "PIL", "multiprocessing", "asyncio", "unittest",
             "hypothesis", "pytest", "http", "email", "argparse", "subprocess", "sqlite3",
             "concurrent", "distutils", "setuptools", "pkg_resources", "gzip", "tkinter"}
    assert not heavy & {name.partition(".")[0] for name in new}
    late = {"static", "jit", "vision", "fluid", "demo", "run_script", "checks", "info"}
    assert not late & {name.partition(".")[2] for name in new if name.startswith("minipaddle.")}
    assert len(new) < 120, new


def test_import_says_nothing():
    done = python("-W", "error", "-c", "import minipaddle")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- packaging
def test_version_stands_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+", minipaddle.__version__)
    config = configparser.ConfigParser()
    config.read_string(read("setup.cfg"))
    assert config["metadata"]["version"] == "attr: minipaddle.__version__"
    for name in ("pyproject.toml", "README.md", "Makefile"):
        assert minipaddle.__version__ not in read(name)


def test_numpy_is_all_that_is_needed():
    config = configparser.ConfigParser()
    config.read_string(read("setup.cfg"))
    assert config["options"]["install_requires"].split() == ["numpy>=1.26"]
    extras = config["options.extras_require"]
    assert extras["cuda"].split() == ["cupy-cuda12x"]
    assert extras["cuda13"].split() == ["cupy-cuda13x"]
    assert extras["test"].split() == ["pytest", "hypothesis"]


def test_every_module_and_data_file_is_shipped():
    config = configparser.ConfigParser()
    config.read_string(read("setup.cfg"))
    packages = set(config["options"]["packages"].split())
    patterns = config["options.package_data"]["minipaddle"].split()
    for folder, _, names in os.walk(PACKAGE):
        place = os.path.relpath(folder, PACKAGE).replace(os.sep, "/")
        for name in names:
            if name.endswith(".py"):
                assert ("minipaddle" if place == "." else f"minipaddle.{place}") in packages
            elif not name.endswith(".pyc") and ".ruff_cache" not in place:
                assert any(fnmatch.fnmatch(f"{place}/{name}", p) for p in patterns), name


def test_licence_is_apache_2():
    assert "Apache License" in read("LICENSE") and "Version 2.0" in read("LICENSE")


# ---- the README
def test_the_readmes_ten_lines_work(capsys):
    [code] = re.findall(r"```python\n(.*?)```", read("README.md"), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    minipaddle.seed(0)
    exec(compile(code, "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) < 0.01


def test_the_readmes_links_lead_somewhere():
    for name in ("README.md", *(os.path.join("docs", n) for n in os.listdir(f"{ROOT}/docs"))):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", read(name)):
            assert os.path.exists(os.path.join(ROOT, os.path.dirname(name), target)), target


def test_the_readmes_plain_commands_are_the_makefiles():
    readme, makefile = read("README.md"), read("Makefile")
    for command in re.findall(r"\$\(BIN\)/python (-m (?:pytest|minipaddle).*)", makefile):
        assert f".venv/bin/python {command}\n" in readme


# ---- the house
def imports_of(name: str) -> set[str]:
    """The modules of the package that a module imports as it is imported itself."""
    found = set()
    for node in ast.walk(ast.Module(body=[
            node for node in ast.parse(read("minipaddle", name + ".py")).body
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef))], type_ignores=[])):
        if isinstance(node, ast.ImportFrom) and (node.level == 1 or node.module == "minipaddle"):
            found |= {alias.name for alias in node.names} if node.module in (None, "minipaddle") \
                else {node.module}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minipaddle."):
            found.add(node.module.partition(".")[2])
    return found & set(MODULES)


MODULES = sorted(n[:-3] for n in os.listdir(PACKAGE) if n.endswith(".py") and n != "__init__.py")


def test_imports_only_go_down():
    """No module is reached again from what it imports: the modules stand in layers."""
    below = {name: imports_of(name) for name in MODULES}
    while below:
        ground = {name for name, needs in below.items() if not needs & set(below)}
        assert ground, f"imports in a circle among {sorted(below)}"
        below = {name: needs for name, needs in below.items() if name not in ground}


@pytest.mark.parametrize("name", sorted(n for n in os.listdir(PACKAGE) if n.endswith(".py")))
def test_a_module_opens_with_what_it_is_for(name):
    tree = ast.parse(read("minipaddle", name))
    assert ast.get_docstring(tree), "a module begins with a docstring"
    first = [node for node in tree.body[1:2] if isinstance(node, ast.ImportFrom)]
    assert first and first[0].module == "__future__"
