"""What a Program is: its inputs' specifications, its text, its parts."""
from __future__ import annotations

import linecache

import numpy as np
import pytest

import minipaddle as paddle
from minipaddle.static import Dim, Probes
from minipaddle.static import InputSpec as Spec


def test_input_spec_reads_what_users_write():
    spec = Spec([None, 3], "float64", "x")
    assert spec.shape == (-1, 3) and spec.dtype is paddle.float64 and spec.name == "x"
    assert Spec(4).shape == (4,) and Spec([2]) == Spec((2,)) and Spec([2]) != Spec([3])
    assert {Spec([2]), Spec([2])} == {Spec([2])}


def test_input_spec_from_tensor_and_array():
    assert Spec.from_tensor(paddle.ones([2, 3], "int32"), "t") == Spec([2, 3], "int32", "t")
    assert Spec.from_numpy(np.zeros((4,))) == Spec([4], "float64")


def test_input_spec_batch():
    spec = Spec([3])
    assert spec.batch(8).shape == (8, 3) and spec.unbatch().shape == (3,)
    assert Spec([3]).batch([None]).shape == (-1, 3)
    with pytest.raises(ValueError, match="unbatch"):
        Spec([]).unbatch()
    with pytest.raises(TypeError, match="batch_size"):
        Spec([3]).batch("8")


@pytest.mark.parametrize("shape", ["3", [2.5], [-2], [True and "a"]])
def test_input_spec_refuses_other_shapes(shape):
    with pytest.raises((TypeError, ValueError), match="InputSpec"):
        Spec(shape)


def test_unknown_sizes_are_told_apart():
    probes = Probes()
    sizes = [probes.new(k % 2) for k in range(40)]
    assert len(set(sizes)) == 40 and sizes[0] == Dim(sizes[0].probes)
    assert all(a != b for d in sizes for a, b in [d.probes])


def branch(x):
    if x.mean() > 0:
        return x * 2
    return x - 1


def test_program_is_readable_python():
    f = paddle.jit.to_static(branch)
    f(paddle.ones([2, 3]))
    text = f.main_program.code()
    compile(text, "<text>", "exec")
    assert "if truth(" in text and "else:" in text
    assert "# test_static.py:" in text and "if x.mean() > 0:" in text


def test_program_lists_types_blocks_and_origins():
    f = paddle.jit.to_static(branch, input_spec=[Spec([None, 3])])
    listing = str(f.main_program)
    assert "tensor [None, 3] float32" in listing and "cond(" in listing
    assert listing.count("->") == 4 and "test_static.py:" in listing


def test_program_text_is_what_tracebacks_show():
    f = paddle.jit.to_static(lambda x, i: (x * 2)[i])
    with pytest.raises(IndexError) as caught:
        f(paddle.ones([3]), paddle.to_tensor(7))
    frames = [e for e in caught.traceback if str(e.path).startswith("<program")]
    assert frames or any("<program" in e.frame.code.raw.co_filename for e in caught.traceback)
    names = [n for n in linecache.cache if n.startswith("<program <lambda>")]
    assert any("take_at" in linecache.getlines(n)[1] + "".join(linecache.getlines(n))
               for n in names)


def test_dead_code_is_dropped_and_names_are_used_again():
    def f(x):
        unused = paddle.exp(x)  # noqa: F841
        for _ in range(20):
            x = paddle.tanh(x)
        return x

    static = paddle.jit.to_static(f)
    static(paddle.ones([2]))
    text = static.main_program.code()
    assert "exp(" not in text and "v3" not in text


def test_nested_blocks_see_only_their_inputs():
    def f(x, n):
        w = paddle.ones([2]) * 3
        for i in range(n):
            if x.sum() < 100:
                x = x * w + i
        return x

    static = paddle.jit.to_static(f)
    static(paddle.ones([2]), paddle.to_tensor(3))
    for block in static.main_program.blocks():
        known = set(block.inputs) | {s.value for s in static.main_program.state} | \
            set(static.main_program.inputs)
        for op in block.ops:
            assert all(v in known for v in op.reads()), op.name
            known.update(op.outputs)
        assert block.parent is None or all(v in known for v in block.outputs)
