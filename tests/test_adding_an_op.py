"""docs/adding_an_op.md: its code runs, and its table of options is complete."""
from __future__ import annotations

import inspect
import os
import re

import pytest
from processes import ROOT

from minipaddle.core import Tensor, op
from minipaddle.samples import Draw


def page() -> str:
    with open(os.path.join(ROOT, "docs", "adding_an_op.md"), encoding="utf-8") as file:
        return file.read()


@pytest.mark.host_only("the page speaks of the CPU's rounding")
def test_the_code_runs(own_ops, capsys):
    before = vars(Tensor).get("__lshift__")
    scope: dict = {}
    try:
        for block in re.findall(r"```python\n(.*?)```", page(), re.DOTALL):
            exec(compile(block, "docs/adding_an_op.md", "exec"), scope)
    finally:
        delattr(Tensor, "__lshift__") if before is None else \
            setattr(Tensor, "__lshift__", before)
    shown = re.search(r"```text\n(.*?)```", page(), re.DOTALL).group(1)
    assert capsys.readouterr().out == shown


def test_every_option_is_in_the_table():
    options = set(inspect.signature(op).parameters)
    table = page().split("## Options of `op`")[1].split("\n## ")[0]
    assert options == set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def test_every_call_of_draw_is_in_the_table():
    table = page().split("## Samplers")[1]
    named = set(re.findall(r"draw\.(\w+)\(", table))
    public = {n for n, v in vars(Draw).items() if callable(v) and not n.startswith("_")}
    assert public - {"seed"} == named - {"seed"}
