"""Test set-up for tests/, gradcheck/ and the doctests: the device, and a fresh state a test.

    pytest --device=cpu      NumPy (the default)
    pytest --device=strict   CuPy's route on a stand-in that refuses what CuPy refuses
    pytest --device=gpu      a real card

A test marked `host_only("why")` runs on the CPU whatever the device.
"""
from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: sums in one order on any machine
os.environ.setdefault("MPLBACKEND", "agg")

import sys  # noqa: E402

import pytest  # noqa: E402
from hypothesis import HealthCheck, Phase, settings  # noqa: E402

ROOT = os.path.dirname(os.path.abspath(__file__))

# The same examples in every run: a failure seen once is seen again.
settings.register_profile("minipaddle", derandomize=True, deadline=None, database=None,
                          suppress_health_check=list(HealthCheck),
                          phases=[Phase.explicit, Phase.generate, Phase.shrink])
settings.load_profile("minipaddle")


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", choices=["cpu", "strict", "gpu"],
                     help="where tensors live: cpu, gpu, or strict (a stand-in for CuPy)")


def pytest_configure(config):
    config.addinivalue_line("markers", "host_only(reason): runs on the CPU on any device")
    if config.getoption("--device") == "strict":    # before the package is imported
        sys.path.insert(0, os.path.join(ROOT, "tests", "strict_cupy"))
        import strict_cupy
        strict_cupy.install()


@pytest.fixture
def device(request) -> str:
    """The device of this test, as `paddle.set_device` takes it."""
    if request.node.get_closest_marker("host_only"):
        return "cpu"
    return {"cpu": "cpu"}.get(request.config.getoption("--device"), "gpu")


@pytest.fixture(autouse=True)
def fresh_state(device):
    """The device chosen, generators seeded; afterwards every switch a test may turn is back."""
    import minipaddle as paddle
    from minipaddle import modes
    paddle.set_device(device)
    paddle.seed(0)
    paddle.set_default_dtype("float32")
    yield
    modes._set_grad(True)
    modes.set_amp_state(None)
    modes.set_tracer(None)
    modes.set_observers(())
    paddle.set_default_dtype("float32")
    paddle.set_device("cpu")


@pytest.fixture
def own_ops():
    """Ops that a test defines are taken out of the registry and the namespaces afterwards."""
    from minipaddle.core import Tensor, namespaces, ops, registry
    places = [registry, *namespaces.values(), vars(ops)]
    before = [dict(p) for p in places]
    methods = dict(vars(Tensor))
    yield registry
    for place, old in zip(places, before):
        for name in [n for n in place if n not in old]:
            del place[name]
        place.update(old)
    for name in [n for n in vars(Tensor) if n not in methods]:
        delattr(Tensor, name)
