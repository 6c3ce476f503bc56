"""What a thread is doing: recording gradients or not, mixed precision, tracing, observing.

Imports nothing of the package. Two counters say whether any thread does something unusual, so
that an op's fast path asks them instead of the thread.
"""
from __future__ import annotations

import functools
import threading


class Local(threading.local):
    grad = True          # are operations recorded for gradients?
    amp = None           # the state auto_cast sets: .decide(op), .dtype
    tracer = None        # who turns calls into a Program
    observers = ()       # called with (op, inputs, outputs) after each op


local = Local()
lock = threading.Lock()
unusual = 0          # how many modes of the three below are set, over all threads
quiet = 0            # how many threads or blocks do not record: 0 spares the look at local


def _set_mode(name: str, value):
    """Set an unusual mode of this thread (amp, tracer, observers); returns the old value."""
    global unusual
    old = getattr(local, name)
    with lock:
        unusual += bool(value) - bool(old)
    setattr(local, name, value)
    return old


def set_amp_state(state):
    """Make `state` decide casts from now on in this thread (None: off); returns the old one."""
    return _set_mode("amp", state)


def amp_state():
    """What `set_amp_state` set in this thread, or None."""
    return local.amp


def set_tracer(tracer):
    """Send every call of this thread to `tracer.record(op, inputs, attrs)` first.

    record returns NotImplemented for calls that shall simply run. Returns the old tracer.
    """
    return _set_mode("tracer", tracer)


def tracer():
    """The tracer of this thread, or None."""
    return local.tracer


def set_observers(observers):
    """Call each observer with (op, inputs, outputs) after every op; returns the old ones."""
    return _set_mode("observers", tuple(observers))


def _set_grad(mode: bool) -> bool:
    """Record or not in this thread from now on; returns the old mode."""
    global quiet
    old, local.grad = local.grad, mode
    if old != mode:
        with lock:
            quiet += 1 if old else -1
    return old


class _GradMode:
    """Base of no_grad and enable_grad: a context manager and a decorator."""

    mode = True

    def __init__(self, func=None) -> None:
        self._func, self._old = func, []
        if func is not None:
            functools.update_wrapper(self, func)

    def __enter__(self):
        self._old.append(_set_grad(self.mode))
        return self

    def __exit__(self, *error) -> None:
        _set_grad(self._old.pop())

    def __call__(self, *args, **kwargs):
        if self._func is not None:                  # @no_grad without parentheses
            with type(self)():
                return self._func(*args, **kwargs)
        func, kind = args[0], type(self)

        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            with kind():
                return func(*args, **kwargs)
        return wrapped

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)


class no_grad(_GradMode):
    """Within it nothing is recorded: `with paddle.no_grad():` or `@paddle.no_grad()`.

    >>> import minipaddle as paddle
    >>> w = paddle.to_tensor([1., 2.], stop_gradient=False)
    >>> with paddle.no_grad():
    ...     y = w * 2
    >>> y.stop_gradient
    True
    """

    mode = False


class enable_grad(_GradMode):
    """Within it operations are recorded again, also inside `no_grad`.

    >>> import minipaddle as paddle
    >>> w = paddle.to_tensor([1.], stop_gradient=False)
    >>> with paddle.no_grad():
    ...     with paddle.enable_grad():
    ...         y = w * 2
    >>> y.stop_gradient
    False
    """


class set_grad_enabled:
    """Switch recording on or off, at once and, in a `with`, until its end.

    >>> import minipaddle as paddle
    >>> with paddle.set_grad_enabled(False):
    ...     paddle.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._old = _set_grad(bool(mode))

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        _set_grad(self._old)


def is_grad_enabled() -> bool:
    """Whether operations are recorded for gradients in this thread."""
    return local.grad


