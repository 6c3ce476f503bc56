"""paddle.jit: one line from a function or Layer to a static Program, saved and loaded.

Imports jit_runtime, program_file and below. `to_static` converts the source (jit_passes.py),
traces it to a Program (capture.py) for every kind of arguments it meets, and runs that.
"""
from __future__ import annotations

import copy
import functools
import inspect
import linecache
import os
import threading
import types
import warnings
import weakref

import numpy as np

from . import core, jit_runtime, program_file
from .core import Tensor, enable_grad, is_array, local, no_grad
from .layer import Layer
from .program_code import Deferred, add_note, compiled
from .static import InputSpec, Program, StaticError, Value, converted_codes
from .symbolic import TracedList, Variable
from .write_log import BoxEntry, HandleEntry, StateEntry

_enabled = True
_building = threading.RLock()


# ---- structures of arguments and results
def flatten(x, leaves):
    """A structure with its tensors replaced by `Deferred` numbers; they go into `leaves`."""
    if isinstance(x, Tensor):
        leaves.append(x)
        return Deferred(len(leaves) - 1)
    if isinstance(x, TracedList) and x.symbolic is not None:
        leaves.append(x)
        return Deferred(len(leaves) - 1)
    if is_array(x):
        leaves.append(core.to_tensor(x))
        return Deferred(len(leaves) - 1)
    if isinstance(x, tuple):
        made = [flatten(v, leaves) for v in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    if isinstance(x, list):
        return [flatten(v, leaves) for v in x]
    if type(x) is dict:
        return {k: flatten(v, leaves) for k, v in x.items()}
    return x


def unflatten(template, values):
    """The structure again, from other leaves."""
    if isinstance(template, Deferred):
        return values[template.index]
    if isinstance(template, tuple):
        made = [unflatten(v, values) for v in template]
        return type(template)(*made) if hasattr(template, "_fields") else tuple(made)
    if isinstance(template, list):
        return [unflatten(v, values) for v in template]
    if type(template) is dict:
        return {k: unflatten(v, values) for k, v in template.items()}
    return template


def key_of(x):
    """What a structure of arguments is in the cache's key: values with their types."""
    if isinstance(x, Deferred):
        return "t", x.index
    if isinstance(x, (tuple, list)):
        return (type(x), *[key_of(v) for v in x])
    if type(x) is dict:
        return (dict, *[(k, key_of(v)) for k, v in x.items()])
    if isinstance(x, (int, float, str, bool, bytes, type(None))):
        return type(x), x
    try:
        hash(x)
        return type(x), x
    except TypeError:
        return type(x), id(x)


# ---- one Program and all that belongs to it
class ConcreteProgram:
    """A Program for one kind of arguments: how to run it, and what must hold for it."""

    def __init__(self, program, outputs, kept, guards, name) -> None:
        self.main_program = self.program = program
        self.outputs, self.kept, self.guards, self.name = outputs, kept, guards, name
        self.replays: list = []         # (Entry, template) of what is written after each call
        self.signature = None           # args, kwargs and specs it was traced for
        self.count = len(program.outputs)

    def holds(self) -> bool:
        return all(g.holds() for g in self.guards)

    def __call__(self, tensors):
        program = self.program
        states = [s.read() for s in program.state]
        results = compiled(program).run([*tensors, *states])
        known = {id(t._data): t for t in tensors}
        values = [_public(v, known) for v in results[:self.count]]
        for (state, _), v in zip(program.writes, results[self.count:]):
            t = state.read()
            t._data = v._data if isinstance(v, Tensor) else np.asarray(v) \
                if isinstance(v, np.generic) else v
            core.written(t)
        for entry, template in self.replays:
            _replay(entry, unflatten(template, values), tensors)
        return unflatten(self.outputs, values)


def _public(v, known):
    """A result as users get it: arrays as Tensors, an input as the tensor it was."""
    if isinstance(v, list):
        return [_public(x, known) for x in v]
    if is_array(v):
        same = known.get(id(v))
        return Tensor(v) if same is None else same
    return v


class InputEntry:
    """A tensor argument that the function writes in place: the caller's tensor changes too."""

    def __init__(self, index) -> None:
        self.index = index


def _replay(entry, value, tensors) -> None:
    if isinstance(entry, InputEntry):
        t = tensors[entry.index]
        if value is not t:
            t._data = value._data
            if value._node is not None:
                t._node, t.stop_gradient = value._node, value.stop_gradient
            core.written(t)
        return
    if isinstance(entry, BoxEntry) and isinstance(value, tuple):
        kind, value = value
        if kind == "more":
            entry.owner.extend(value)
            return
    entry.write(value)


def trace(function, name, args, kwargs, tensors, specs, layer=None) -> ConcreteProgram:
    """Run a function on symbolic values, and return the Program it wrote.

    args and kwargs hold `Deferred` where tensors go; specs: (shape, dtype, stop_gradient) of each.
    """
    tracer = jit_runtime.Conversion(name)
    program = tracer.program
    old, amp = core.set_tracer(tracer), local.amp
    try:
        with enable_grad():
            handles = []
            for i, (shape, dtype, stop, label) in enumerate(specs):
                sizes = [tracer.probes.new(k) if n in (None, -1) else n
                         for k, n in enumerate(shape)]
                v = Value("tensor", sizes, dtype, program.block, label or f"x{i}",
                          stop_gradient=stop)
                program.inputs.append(v)
                handles.append(Variable(v))
                handles[-1]._born = None
            try:
                called = jit_runtime.root(function)
                out = called(*unflatten(args, handles), **unflatten(kwargs, handles))
                leaves: list = []
                template = flatten(out, leaves)
                finals = [(e, tracer.logs[0][k], e.read()) for k, e in tracer.logs[0].items()]
                replays = _writes(tracer, finals, handles, leaves)
                program.outputs = [_output(tracer, v) for v in leaves]
            finally:
                tracer.logs[0].undo()
    except Exception as error:
        _locate(error)
        raise
    finally:
        core.set_tracer(old)
        if local.amp is not amp:
            core.set_amp_state(amp)
    kept = [function, layer, [g.kept for g in tracer.guards]]
    written = {e.key for e, _, _ in finals}
    guards = [g for g in tracer.guards if _guarded(g, written, finals)]
    made = ConcreteProgram(program, template, kept, guards, name)
    made.replays, made.signature = replays, (args, kwargs, specs)
    made.count = len(program.outputs)
    made.guards += _owners(tracer, finals)
    return made


def _guarded(g, written, finals) -> bool:
    """Whether what was read must stay as it was: not what the Program itself writes."""
    if g.kind == "object":
        return True
    key = ("cell", id(g.owner)) if g.kind == "cell" else ("global", id(g.owner), g.name)
    return key not in written and not any(
        isinstance(e, BoxEntry) and type(e.owner) is type(g.value) and e.owner == g.value
        for e, _, _ in finals)


def _output(tracer, x) -> Value:
    if isinstance(x, TracedList):
        return x.symbolic
    return tracer.use(tracer.read(x))


def _writes(tracer, finals, handles, leaves) -> list:
    """What the call wrote outside: state of the Program, and what is replayed after each call."""
    replays = []
    for entry, _, value in finals:
        if isinstance(entry, StateEntry):
            state = tracer.states[id(entry.owner)]
            tracer.program.writes.append((state, tracer.use(value._data)))
        elif isinstance(entry, HandleEntry):
            for i, h in enumerate(handles):
                if h is entry.owner:
                    replays.append((InputEntry(i), flatten(value, leaves)))
        elif isinstance(entry, BoxEntry) and isinstance(entry.owner, list) and \
                getattr(value, "symbolic", None) is None and \
                len(value) >= len(entry.old) and all(
                    a is b for a, b in zip(value, entry.old)):
            replays.append((entry, ("more", flatten(list(value[len(entry.old):]), leaves))))
        elif isinstance(entry, BoxEntry):
            replays.append((entry, ("all", flatten(value, leaves))))
        else:
            replays.append((entry, flatten(value, leaves)))
    return replays


def _owners(tracer, finals) -> list:
    """Let state be read from where it lives, so that a tensor put there later is seen.

    Returns guards for what the function itself replaces at every call.
    """
    guards = []
    for layer in tracer.layers.values():
        for group in (layer._parameters, layer._buffers):
            for name, t in group.items():
                state = t is not None and tracer.states.get(id(t))
                if state:
                    state.get = functools.partial(group.__getitem__, name)
    for entry, _, _ in finals:
        old = entry.old
        if isinstance(old, Tensor) and id(old) in tracer.states and hasattr(entry, "name"):
            tracer.states[id(old)].get = entry.read
            guards.append(jit_runtime.StateGuard(tracer.states[id(old)]))
    return guards


def _locate(error) -> None:
    """Say with an exception of the conversion which line of the user's it came from."""
    last, tb = None, error.__traceback__
    while tb is not None:
        if id(tb.tb_frame.f_code) in converted_codes:
            last = tb
        tb = tb.tb_next
    if last is not None:
        code = last.tb_frame.f_code
        text = linecache.getline(code.co_filename, last.tb_lineno).strip()
        add_note(error, f"  at {code.co_filename}:{last.tb_lineno}, in {code.co_name}: {text}")


# ---- the function users call
class StaticFunction:
    """What `to_static` makes of a function: calling it runs a Program.

    `code` is the converted text, `program_cache` the Programs made so far, `main_program` the one
    last used; `rollback()` gives the original function back.
    """

    def __init__(self, function, input_spec=None, **kwargs) -> None:
        self._instance = None
        if isinstance(function, types.MethodType):
            function, self._instance = function.__func__, function.__self__
        self._function, self._input_spec = function, input_spec
        self._options = kwargs
        self._bound: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self.program_cache = ProgramCache()
        self._last: ConcreteProgram | None = None
        self._layer = None              # the Layer whose forward this replaced
        self._known: dict = {}          # shapes and dtypes of tensors -> their Program
        functools.update_wrapper(self, function)
        try:
            self.__signature__ = inspect.signature(function)
            if self._instance is not None:
                parameters = list(self.__signature__.parameters.values())[1:]
                self.__signature__ = self.__signature__.replace(parameters=parameters)
        except (TypeError, ValueError):
            self.__signature__ = None
        self._plain = self._read_signature()

    def _read_signature(self):
        """How many plain positional parameters there are, or None when binding is needed."""
        if self.__signature__ is None:
            return None
        parameters = self.__signature__.parameters.values()
        if all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters):
            return len(parameters)
        return None

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        try:
            found = self._bound.get(instance)
            if found is None:
                found = self._bound[instance] = self._of(instance)
            return found
        except TypeError:                           # cannot be referred to weakly
            return self._of(instance)

    def _of(self, instance):
        return type(self)(types.MethodType(self._function, instance), self._input_spec,
                          **self._options)

    def _jit_inner(self):
        """The function to trace where another converted function calls this one."""
        return self.dygraph_function

    @property
    def dygraph_function(self):
        """The original function, bound to its instance."""
        if self._instance is None:
            return self._function
        return types.MethodType(self._function, self._instance)

    def __call__(self, *args, **kwargs):
        if local.tracer is not None:
            return jit_runtime.call(self.dygraph_function)(*args, **kwargs)
        if not _enabled:
            return self.dygraph_function(*args, **kwargs)
        if not kwargs and len(args) == self._plain and local.amp is None:
            # tensors alone, and seen before: nothing to take apart
            try:
                key = (*[(t._data.shape, t._data.dtype, t.stop_gradient) for t in args],
                       core.default_float(), core.current_place())
            except AttributeError:
                key = None
            program = self._known.get(key)
            if program is not None and program.holds():
                self._last = program
                return program(args)
        else:
            key = None
        args, kwargs = self._bind(args, kwargs)
        tensors: list = []
        template = flatten(args, tensors), flatten(kwargs, tensors)
        program = self._program(template, tensors)
        if key is not None and len(tensors) == len(args):
            if len(self._known) > 256:
                self._known.clear()
            self._known[key] = program
        return program(tensors)

    def _bind(self, args, kwargs):
        """Arguments in one form however they were given."""
        if self.__signature__ is None or (self._plain == len(args) and not kwargs):
            return args, kwargs
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _program(self, template, tensors) -> ConcreteProgram:
        specs = self._specs(template, tensors)
        key = (key_of(template[0]), key_of(template[1]),
               tuple((tuple(s), d.str, g) for s, d, g, _ in specs), _modes())
        row = self.program_cache.get(key, ())
        for program in row:
            if program.holds():
                self._last = program
                return program
        with _building:
            program = trace(self.dygraph_function, self._function.__name__, *template, tensors,
                            specs, self._instance)
            self.program_cache.add(key, program)
        if len(row) == 16:
            changed = ", ".join(g.changed() if g.kind == "object" else g.name
                                for g in row[-2].guards if not g.holds())
            warnings.warn(f"{self._function.__name__} was converted more than 16 times for the "
                          f"same kinds of arguments; what keeps changing: {changed}", stacklevel=3)
        self._last = program
        return program

    def _specs(self, template, tensors):
        """(shape, dtype, stop_gradient, name) of every tensor argument."""
        given = self._given_specs(template, tensors)
        out = []
        for i, t in enumerate(tensors):
            spec, shape = given[i], t._data.shape
            if spec is None:
                out.append((shape, t._data.dtype, t.stop_gradient, None))
                continue
            if len(spec.shape) != len(shape) or any(
                    n not in (-1, m) for n, m in zip(spec.shape, shape)):
                raise ValueError(
                    f"{self._function.__name__}: input {spec.name or i} has shape {list(shape)}, "
                    f"its InputSpec says {[None if n == -1 else n for n in spec.shape]}")
            out.append((spec.shape, t._data.dtype, t.stop_gradient, spec.name))
        return out

    def _given_specs(self, template, tensors):
        if self._input_spec is None:
            return [None] * len(tensors)
        found: list = [None] * len(tensors)
        _match(self._input_spec, template[0], found)
        return found

    # -- what else it offers
    @property
    def code(self) -> str:
        """The converted text of the function."""
        made = jit_runtime.convert_code(self._function)
        if made is None:
            raise StaticError(f"{self._function.__name__} has no source text")
        return made.text

    def get_concrete_program(self, *args, **kwargs):
        """(ConcreteProgram, None) for these arguments: tensors or InputSpecs."""
        if not args and not kwargs:
            if self._input_spec is None and self._last is None:
                raise ValueError(f"{self._function.__name__}: give input_spec, or call it first")
            return self._from_spec(self._input_spec), None
        if any(isinstance(a, InputSpec) for a in args):
            return self._from_spec(list(args)), None
        args, kwargs = self._bind(args, kwargs)
        tensors: list = []
        template = flatten(args, tensors), flatten(kwargs, tensors)
        return self._program(template, tensors), None

    def _from_spec(self, input_spec) -> ConcreteProgram:
        specs: list = []

        def place(s):
            if isinstance(s, InputSpec):
                specs.append((s.shape, s.dtype.np, s.stop_gradient, s.name))
                return Deferred(len(specs) - 1)
            if isinstance(s, Tensor):
                return place(InputSpec.from_tensor(s, s._name))
            if isinstance(s, (tuple, list)):
                return type(s)(place(v) for v in s)
            if isinstance(s, dict):
                return {k: place(v) for k, v in s.items()}
            return s
        kwargs: dict = {}
        if input_spec is None:                      # as it was called last
            args, kwargs, specs = self._last.signature
        else:
            args = tuple(place(s) for s in input_spec)
        if input_spec is not None and self.__signature__ is not None:
            bound = self.__signature__.bind(*args)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        key = ("spec", key_of(args), key_of(kwargs),
               tuple((s[0], s[1].str, s[2]) for s in specs), _modes())
        for program in self.program_cache.get(key, ()):
            if program.holds():
                return program
        with _building:
            program = trace(self.dygraph_function, self._function.__name__, args, kwargs, [], specs,
                            self._instance)
            self.program_cache.add(key, program)
        self._last = program
        return program

    @property
    def concrete_program(self) -> ConcreteProgram | None:
        """The Program last used, or that of the input_spec."""
        if self._last is None and self._input_spec is not None:
            self._from_spec(self._input_spec)
        return self._last

    @property
    def main_program(self) -> Program:
        """The Program last used."""
        found = self.concrete_program
        if found is None:
            raise ValueError(f"{self._function.__name__}: call it first, or give an input_spec")
        return found.program

    @property
    def inputs(self):
        return self.main_program.inputs

    @property
    def outputs(self):
        return self.main_program.outputs

    @property
    def function_spec(self):
        return self.__signature__

    def rollback(self):
        """Undo to_static: the original function, which a Layer then has again as its forward."""
        if self._layer is not None:
            layer = self._layer()
            if layer is not None:
                layer.__dict__.pop("forward", None)
        return self.dygraph_function

    def __deepcopy__(self, memo):
        if self._instance is None:
            return self
        return type(self)(types.MethodType(self._function, copy.deepcopy(self._instance, memo)),
                          self._input_spec, **self._options)


def _match(spec, args, found) -> None:
    """Give each tensor its InputSpec, by the same place in both structures."""
    if isinstance(args, Deferred):
        if isinstance(spec, Tensor):
            spec = InputSpec.from_tensor(spec, spec._name)
        found[args.index] = spec if isinstance(spec, InputSpec) else None
    elif isinstance(args, (tuple, list)) and isinstance(spec, (tuple, list)):
        for s, a in zip(spec, args):
            _match(s, a, found)
    elif isinstance(args, dict) and isinstance(spec, dict):
        for k in args:
            if k in spec:
                _match(spec[k], args[k], found)


def _modes():
    amp = local.amp
    state = None if amp is None else tuple(sorted((k, repr(v)) for k, v in vars(amp).items()))
    return state, core.get_default_dtype(), str(core.current_place())


class ProgramCache:
    """The Programs of a StaticFunction; its length is their number."""

    def __init__(self) -> None:
        self._rows: dict = {}

    def get(self, key, default=()):
        return self._rows.get(key, default)

    def add(self, key, program) -> None:
        self._rows.setdefault(key, []).append(program)

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def __iter__(self):
        for row in self._rows.values():
            yield from row

    concrete_programs = __iter__

    def last(self):
        return list(self)[-1]


# ---- the public functions
def to_static(function=None, input_spec=None, build_strategy=None, backend=None, **kwargs):
    """Turn a function, method or Layer into a static Program, by converting its source.

    input_spec: a list of `InputSpec`, one for an argument; then one Program serves all sizes that
    are None in it. build_strategy and backend are accepted; there is one backend. A Layer's
    forward is replaced, and the Layer returned. StaticError for what cannot be converted.

    >>> import minipaddle as paddle
    >>> @paddle.jit.to_static
    ... def double_if_positive(x):
    ...     if x.sum() > 0:
    ...         return x * 2
    ...     return x
    >>> double_if_positive(paddle.to_tensor([1., 2.])).tolist()
    [2.0, 4.0]
    """
    if function is None:
        return functools.partial(to_static, input_spec=input_spec, build_strategy=build_strategy,
                                 backend=backend, **kwargs)
    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        raise TypeError(f"to_static: input_spec must be a list or tuple of InputSpec, got "
                        f"{type(input_spec).__name__}")
    if isinstance(function, Layer):
        forward = function.forward
        if isinstance(forward, StaticFunction):
            forward = forward.dygraph_function
        static = StaticFunction(forward, input_spec)
        static._layer = weakref.ref(function)
        object.__setattr__(function, "forward", static)
        return function
    if isinstance(function, StaticFunction):
        return function if input_spec is None else StaticFunction(function.dygraph_function,
                                                                  input_spec)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(to_static(function.__func__, input_spec))
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return StaticFunction(function, input_spec)
    if callable(function) and not isinstance(function, type):
        return StaticFunction(_function_of(function), input_spec)
    raise TypeError(f"to_static: a function, a method or a Layer is needed, got "
                    f"{type(function).__name__}")


def _function_of(thing):
    """A callable object or functools.partial as a function."""
    @functools.wraps(thing, updated=())
    def run(*args, **kwargs):
        return jit_runtime.call(thing)(*args, **kwargs)
    run.__name__ = getattr(thing, "__name__", type(thing).__name__)
    run._jit_not_to_static = True
    run.__module__ = __name__
    try:
        run.__signature__ = inspect.signature(thing)
    except (TypeError, ValueError):
        pass                                        # bound without one
    return run


def not_to_static(func=None):
    """Leave a function as it is when converted code calls it.

    >>> import minipaddle as paddle
    >>> @paddle.jit.not_to_static
    ... def helper(x):
    ...     return x + 1
    >>> helper(1)
    2
    """
    if func is None:
        return not_to_static
    func._jit_not_to_static = True
    return func


def ignore_module(modules) -> None:
    """Leave all functions of these modules as they are when converted code calls them.

    >>> import math
    >>> import minipaddle as paddle
    >>> paddle.jit.ignore_module([math])
    """
    for m in modules if isinstance(modules, (list, tuple)) else [modules]:
        name = m if isinstance(m, str) else m.__name__
        if name not in jit_runtime.ignored_modules:
            jit_runtime.ignored_modules.append(name)


def enable_to_static(enable_to_static_bool: bool) -> None:
    """False: every converted function runs eagerly until it is True again.

    >>> import minipaddle as paddle
    >>> paddle.jit.enable_to_static(True)
    """
    global _enabled
    if not isinstance(enable_to_static_bool, bool):
        raise TypeError("enable_to_static: a bool is needed, got "
                        f"{type(enable_to_static_bool).__name__}")
    _enabled = enable_to_static_bool


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Print the code after conversion stage `level` (1 to 7; 100: after the last; 0: nothing).

    >>> import minipaddle as paddle
    >>> paddle.jit.set_code_level(0)
    """
    jit_runtime.code_level = int(level)


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """How much conversion tells about itself; 0: nothing.

    >>> import minipaddle as paddle
    >>> paddle.jit.set_verbosity(0)
    """
    jit_runtime.verbosity = int(level)


def save(layer, path: str, input_spec=None, **configs) -> None:
    """Save a Layer or a converted function as `path.json` (the Program) and `path.npz` (values).

    input_spec: InputSpecs (or tensors) of the arguments; needed unless the layer was converted
    with one or called already. A Layer is saved in both modes, train and eval. Files are complete
    or not there: each is written under another name first. StaticError for what cannot be saved.

    >>> import os, tempfile
    >>> import minipaddle as paddle
    >>> net = paddle.nn.Linear(3, 2)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, 'net')
    >>> paddle.jit.save(net, path, [paddle.static.InputSpec([None, 3])])
    >>> paddle.jit.load(path)(paddle.ones([4, 3])).shape
    [4, 2]
    """
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise ValueError(f"jit.save: path must be a file name without an ending, got {path!r}")
    if isinstance(layer, Layer):
        forward, owner = layer.forward, layer
        static = forward if isinstance(forward, StaticFunction) else StaticFunction(forward)
    elif isinstance(layer, StaticFunction):
        static, owner = layer, layer._instance
    elif callable(layer):
        static, owner = StaticFunction(layer), None
    else:
        raise TypeError(f"jit.save: a Layer or a function is needed, got {type(layer).__name__}")
    spec = input_spec if input_spec is not None else static._input_spec
    if spec is None and static._last is None:
        raise ValueError("jit.save: the kinds of the inputs are not known; give input_spec=["
                         "paddle.static.InputSpec([None, 784], 'float32')], or call the "
                         "converted layer first")
    wanted = {"forward": (static, spec)}
    if isinstance(owner, Layer):
        for name in dir(type(owner)):
            other = getattr(type(owner), name, None)
            if isinstance(other, StaticFunction) and name != "forward" and \
                    other._input_spec is not None:
                wanted[name] = getattr(owner, name), other._input_spec
    if not isinstance(owner, Layer):
        methods = {name: f._from_spec(s) for name, (f, s) in wanted.items()}
        return program_file.save(methods, {}, None, str(path))
    modes = [(layer, layer.training) for layer in owner.sublayers(include_self=True)]
    try:
        owner.eval()
        methods = {name: f._from_spec(s) for name, (f, s) in wanted.items()}
        owner.train()
        training = {}
        for name, (f, s) in wanted.items():
            made = f._from_spec(s)
            if compiled(made.program).text != compiled(methods[name].program).text:
                training[name] = made
    finally:
        for layer, mode in modes:
            layer.training = mode
    return program_file.save(methods, training, owner, str(path))


def load(path: str, **configs) -> "TranslatedLayer":
    """Load what `save` wrote, as a `TranslatedLayer`: it infers, and after `train()` trains on.

    Nothing in the files is run, imported or evaluated. FileNotFoundError when they are missing,
    ValueError naming the operator and the field when they are damaged.

    >>> import os, tempfile
    >>> import minipaddle as paddle
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, 'net')
    >>> paddle.jit.save(paddle.nn.Linear(3, 2), path, [paddle.static.InputSpec([None, 3])])
    >>> len(paddle.jit.load(path).parameters())
    2
    """
    *groups, state = program_file.load(str(path))
    return TranslatedLayer._of(*[{name: ConcreteProgram(program, results, None, [], name)
                                  for name, (program, results) in group.items()}
                                 for group in groups], state)


class TranslatedLayer(Layer):
    """A Layer from a saved Program: made by `paddle.jit.load`, needs none of the user's classes.

    It begins in eval mode, which only infers: nothing is recorded for gradients then, as in
    Paddle. `train()` trains further: dropout drops, batch norm learns, gradients flow.
    """

    def __init__(self, programs=None, persistable_vars=None) -> None:
        super().__init__()
        self._programs, self._training_programs = dict(programs or {}), {}
        for name, t in (persistable_vars or {}).items():
            self._put(name, t)
        self.training = False

    @classmethod
    def _of(cls, methods, training, state):
        made = cls(methods, state)
        made._training_programs = training
        for concrete in [*methods.values(), *training.values()]:
            for s in concrete.program.state:
                s.get = functools.partial(_either, *made._owner(s.name))
        for name in methods:
            if name != "forward" and not hasattr(cls, name):
                made.__dict__[name] = functools.partial(made._run, name)
        return made

    def _owner(self, name):
        parts = name.split(".")
        owner = self
        for part in parts[:-1]:
            if part not in owner._sub_layers:
                owner.add_sublayer(part, Layer())
            owner = owner._sub_layers[part]
        return owner, parts[-1]

    def _put(self, name, t) -> None:
        owner, last = self._owner(name)
        if isinstance(t, core.Parameter):
            owner._parameters[last] = t
        else:
            owner._buffers[last] = t

    def forward(self, *inputs, **kwargs):
        return self._run("forward", *inputs, **kwargs)

    def _run(self, method, *inputs, **kwargs):
        concrete = self._programs[method]
        if self.training:
            concrete = self._training_programs.get(method, concrete)
        specs = concrete.program.input_specs
        names = [s.name for s in specs]
        tensors: list = []
        flatten(inputs, tensors)
        for i in range(len(tensors), len(specs)):
            if names[i] not in kwargs:
                break
            tensors.append(kwargs.pop(names[i]))
        if kwargs or len(tensors) != len(specs):
            raise TypeError(f"{method}: {len(specs)} tensors are needed ({', '.join(names)}), got "
                            f"{len(tensors)}" + (f" and {list(kwargs)}" if kwargs else ""))
        for i, (t, s) in enumerate(zip(tensors, specs)):
            if not isinstance(t, Tensor):
                tensors[i] = t = core.to_tensor(t)
            shape = t._data.shape
            if len(shape) != len(s.shape) or any(n not in (-1, m) for n, m in zip(s.shape, shape)):
                raise ValueError(f"{method}: input {s.name} has shape {list(shape)}, the saved "
                                 f"program takes {[None if n == -1 else n for n in s.shape]}")
            if t._data.dtype != s.dtype.np:
                raise TypeError(f"{method}: input {s.name} is {t.dtype.name}, the saved program "
                                f"takes {s.dtype.name}")
        if self.training:
            return concrete(tensors)
        with no_grad():
            return concrete(tensors)

    def program(self, method_name: str = "forward") -> Program:
        """The Program of a method."""
        return self._programs[method_name].program

    @property
    def input_specs(self):
        """The InputSpecs of forward."""
        return list(self._programs["forward"].program.input_specs)

    _input_spec = input_specs


def _either(owner, name):
    found = owner._parameters.get(name)
    return owner._buffers[name] if found is None else found


class ProgramTranslator:
    """The switch and the look-ups of Paddle 2's translator; one object for all.

    >>> import minipaddle as paddle
    >>> paddle.jit.ProgramTranslator.get_instance() is paddle.jit.ProgramTranslator()
    True
    """

    _one = None

    def __new__(cls):
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    @classmethod
    def get_instance(cls) -> "ProgramTranslator":
        return cls()

    def enable(self, enable_to_static: bool) -> None:
        """Switch conversion on or off, as `paddle.jit.enable_to_static`."""
        globals()["enable_to_static"](enable_to_static)

    @property
    def enable_to_static(self) -> bool:
        return _enabled

    def get_code(self, dygraph_func) -> str:
        """The converted text of a function."""
        return _static(dygraph_func).code

    def get_func(self, dygraph_func):
        """A function converted, without tracing it."""
        return jit_runtime.convert_function(_static(dygraph_func)._function)

    def get_output(self, dygraph_func, *args, **kwargs):
        """What the converted function returns for these arguments."""
        return _static(dygraph_func)(*args, **kwargs)

    def get_program(self, dygraph_func, *args, **kwargs):
        """(main program, startup program, inputs, outputs) for these arguments."""
        program = _static(dygraph_func).get_concrete_program(*args, **kwargs)[0].program
        return program, Program("startup"), program.inputs, program.outputs

    def get_program_cache(self):
        return None


def _static(function) -> StaticFunction:
    return function if isinstance(function, StaticFunction) else StaticFunction(function)


__all__ = ["to_static", "save", "load", "not_to_static", "ignore_module", "enable_to_static",
           "set_code_level", "set_verbosity", "TranslatedLayer", "ProgramTranslator"]
