"""Layer, the base of all networks; its parameters; the containers of layers.

Imports core and initializer. Paddle's rules count to the letter here, since programs rely on
them: the order of `state_dict`, the names of parameters, what an assignment registers.
"""
from __future__ import annotations

import re
import warnings
from collections import OrderedDict

import numpy as np

from . import initializer
from .core import (Parameter, Tensor, asarray, convert_dtype, current_xp,
                   get_default_dtype, is_array, local, namespaces, np_dtype, parse, unique_name)


class ParamAttr:
    """What a parameter shall be like: `Linear(3, 4, weight_attr=ParamAttr(learning_rate=0.1))`.

    name: the parameter's global name. initializer: its first values. learning_rate: multiplies
    the optimizer's. regularizer: replaces the optimizer's weight decay. trainable=False: no
    gradient. need_clip=False: keeps out of gradient clipping.

    >>> import minipaddle as paddle
    >>> attr = paddle.ParamAttr(name='w', initializer=paddle.nn.initializer.Constant(1.0))
    >>> paddle.nn.Linear(1, 1, weight_attr=attr).weight.name
    'w'
    """

    def __init__(self, name: str | None = None, initializer=None, learning_rate: float = 1.0,
                 regularizer=None, trainable: bool = True, do_model_average: bool = True,
                 need_clip: bool = True) -> None:
        self.name, self.initializer, self.learning_rate = name, initializer, learning_rate
        self.regularizer, self.trainable = regularizer, trainable
        self.do_model_average, self.need_clip = do_model_average, need_clip

    @staticmethod
    def _to_attr(arg):
        """What users may give for an attr: None, a ParamAttr, a name, an initializer, False."""
        if arg is None or arg is True:
            return ParamAttr()
        if arg is False:
            return False
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, initializer.Initializer):
            return ParamAttr(initializer=arg)
        if hasattr(arg, "_regularization_coeff") or hasattr(arg, "coeff"):
            return ParamAttr(regularizer=arg)
        raise TypeError(f"a parameter's attr must be a ParamAttr, a name, an initializer, a "
                        f"regularizer, None or False (no parameter), got {arg!r}")


namespaces["paddle"]["ParamAttr"] = ParamAttr


def make_parameter(shape, dtype=None, name: str | None = None, attr=None, is_bias: bool = False,
                   default_initializer=None, kind: str = "create_parameter"):
    """A new Parameter, or None for attr=False; its name is `<kind>.w_<n>` or `.b_<n>`."""
    attr = ParamAttr._to_attr(attr)
    if attr is False:
        return None
    shape = [int(n) for n in (shape if isinstance(shape, (list, tuple)) else [shape])]
    name = name or attr.name or unique_name(f"{kind}.{'b' if is_bias else 'w'}")
    parameter = Parameter(current_xp().zeros(shape, np_dtype(dtype)), name=name,
                          trainable=attr.trainable)
    initializer.fill(parameter, initializer.choose(attr, is_bias, default_initializer))
    parameter.optimize_attr = {"learning_rate": attr.learning_rate}
    parameter.regularizer, parameter.need_clip = attr.regularizer, attr.need_clip
    parameter.do_model_average = attr.do_model_average
    return parameter


def _snake(name: str) -> str:
    """Paddle's spelling of a class in parameter names: PReLU gives p_re_lu, Conv2D conv2d."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


class _Hook:
    """What the register functions return: `remove()` takes the hook away."""

    def __init__(self, hooks: dict, hook) -> None:
        self._hooks, self._key = hooks, object()
        hooks[self._key] = hook

    def remove(self) -> None:
        self._hooks.pop(self._key, None)


class Layer:
    """A network or a part of one: subclass it, make parameters and layers, define `forward`.

    Parameters and layers that are set as attributes are registered; `super().__init__()` must
    come first. Calling the layer calls `forward`, with the hooks around it.

    >>> import minipaddle as paddle
    >>> class Net(paddle.nn.Layer):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = paddle.nn.Linear(3, 2)
    ...     def forward(self, x):
    ...         return self.fc(x)
    >>> net = Net()
    >>> net(paddle.ones([4, 3])).shape, list(net.state_dict())
    ([4, 2], ['fc.weight', 'fc.bias'])
    """

    training = True

    def __init__(self, name_scope: str | None = None, dtype: str = "float32") -> None:
        self.training = True
        self._full_name = unique_name(name_scope or _snake(type(self).__name__))
        # 'float32' is the signature's default: then paddle.set_default_dtype decides
        self._dtype = get_default_dtype() if dtype in (None, "float32") else \
            convert_dtype(dtype).name
        self._parameters: dict = OrderedDict()
        self._sub_layers: dict = OrderedDict()
        self._buffers: dict = OrderedDict()
        self._non_persistable_buffer_names_set: set = set()
        self._forward_pre_hooks: dict = OrderedDict()
        self._forward_post_hooks: dict = OrderedDict()
        self._state_dict_hooks: dict = OrderedDict()

    # -- running
    def forward(self, *inputs, **kwargs):
        """What the layer computes; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, ...)")

    def __call__(self, *inputs, **kwargs):
        if local.tracer is not None:
            result = local.tracer.layer(self, inputs, kwargs)
            if result is not NotImplemented:
                return result
        try:
            pre, post = self._forward_pre_hooks, self._forward_post_hooks
        except AttributeError:
            raise _no_init(self) from None
        if not pre and not post:
            return self.forward(*inputs, **kwargs)
        for hook in list(pre.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in list(post.values()):
            changed = hook(self, inputs, outputs)
            if changed is not None:
                outputs = changed
        return outputs

    def register_forward_pre_hook(self, hook):
        """Call `hook(layer, inputs)` before forward; what it returns replaces the inputs."""
        return _Hook(self._forward_pre_hooks, hook)

    def register_forward_post_hook(self, hook):
        """Call `hook(layer, inputs, outputs)` after forward; its result replaces the outputs."""
        return _Hook(self._forward_post_hooks, hook)

    def register_state_dict_hook(self, hook):
        """Call `hook(state_dict)` when `state_dict` is made."""
        return _Hook(self._state_dict_hooks, hook)

    def train(self) -> "Layer":
        """Training mode, for this layer and all below: dropout drops, batch norm learns."""
        for layer in self.sublayers(include_self=True):
            layer.training = True
        return self

    def eval(self) -> "Layer":
        """Evaluation mode, for this layer and all below."""
        for layer in self.sublayers(include_self=True):
            layer.training = False
        return self

    def apply(self, fn) -> "Layer":
        """Call fn(layer) on all layers below, then on this one."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def full_name(self) -> str:
        """The unique name, such as 'linear_0', that parameter names begin with."""
        return self._full_name

    def extra_repr(self) -> str:
        """What stands in the parentheses of the layer's text; subclasses say."""
        return ""

    # -- making parameters, layers and buffers
    def create_parameter(self, shape, attr=None, dtype=None, is_bias: bool = False,
                         default_initializer=None) -> Parameter | None:
        """A new parameter of the layer's dtype; assign it to an attribute to register it.

        attr: a ParamAttr, a name, an initializer; False gives None. Without an initializer the
        values are Xavier uniform, zeros for is_bias=True.
        """
        return make_parameter(shape, dtype or self._dtype, attr=attr, is_bias=is_bias,
                              default_initializer=default_initializer, kind=self._full_name)

    def create_variable(self, name: str | None = None, persistable: bool | None = None,
                        dtype=None) -> Tensor:
        """An empty tensor of the layer's dtype."""
        t = Tensor(current_xp().zeros((0,), np_dtype(dtype or self._dtype)))
        t.name = name or unique_name(self._full_name + "._generated_var")
        t.persistable = bool(persistable)
        return t

    create_tensor = create_variable

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register a parameter under a name; returns it."""
        _check_name(self, name, "_parameters")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"add_parameter: {name!r} must be a Parameter or None, got "
                            f"{type(parameter).__name__}")
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name: str, sublayer: "Layer | None") -> "Layer | None":
        """Register a layer under a name; returns it."""
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise TypeError(f"add_sublayer: {name!r} must be a Layer or None, got "
                            f"{type(sublayer).__name__}")
        if "_sub_layers" not in self.__dict__:
            raise _no_init(self)
        self._sub_layers[str(name)] = sublayer
        return sublayer

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Register a tensor that is state but not trained; persistable: kept in state_dict."""
        _check_name(self, name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer: {name!r} must be a Tensor or None, got "
                            f"{type(tensor).__name__}")
        self._buffers[name] = tensor
        if persistable:
            self._non_persistable_buffer_names_set.discard(name)
        else:
            self._non_persistable_buffer_names_set.add(name)

    def __setattr__(self, name: str, value) -> None:
        state = self.__dict__
        parameters, layers, buffers = (state.get(k) for k in
                                       ("_parameters", "_sub_layers", "_buffers"))
        if isinstance(value, Parameter):
            if parameters is None:
                raise _no_init(self)
            _forget(self, name, layers, buffers)
            parameters[name] = value
        elif isinstance(value, Layer):
            if layers is None:
                raise _no_init(self)
            _forget(self, name, parameters, buffers)
            layers[name] = value
        elif parameters and name in parameters:
            if value is not None:
                raise TypeError(f"{type(self).__name__}.{name} is a parameter; it can be set to a "
                                f"Parameter or None, not {type(value).__name__}. Use "
                                f"{name}.set_value(...) for new values")
            parameters[name] = None
        elif layers and name in layers:
            if value is not None:
                raise TypeError(f"{type(self).__name__}.{name} is a layer; it can be set to a "
                                f"Layer or None, not {type(value).__name__}")
            layers[name] = None
        elif buffers and name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"{type(self).__name__}.{name} is a buffer; it can be set to a "
                                f"Tensor or None, not {type(value).__name__}")
            buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str):
        # Only called when the usual look-up fails.
        state = self.__dict__
        for group in ("_parameters", "_sub_layers", "_buffers"):
            found = state.get(group)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for group in (self._parameters, self._sub_layers, self._buffers):
            if name in group:
                del group[name]
                self._non_persistable_buffer_names_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return [*super().__dir__(), *self._parameters, *self._sub_layers, *self._buffers]

    # -- walking
    def named_sublayers(self, prefix: str = "", include_self: bool = False, layers_set=None):
        """(dotted name, layer) of all layers below, each once, depth first."""
        seen = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                yield from layer.named_sublayers(prefix + ("." if prefix else "") + name, True,
                                                 seen)

    def sublayers(self, include_self: bool = False) -> list:
        """All layers below."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_children(self):
        """(name, layer) of the layers directly below, each once."""
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self):
        """The layers directly below."""
        for _, layer in self.named_children():
            yield layer

    def _named(self, group: str, prefix: str, include_sublayers: bool):
        layers = self.named_sublayers(prefix, True) if include_sublayers else [(prefix, self)]
        seen = set()
        for path, layer in layers:
            for name, t in getattr(layer, group).items():
                if t is not None and id(t) not in seen:
                    seen.add(id(t))
                    yield path + ("." if path else "") + name, t

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True):
        """(dotted name, parameter) of all parameters, a shared one once."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers: bool = True) -> list:
        """All parameters, a shared one once."""
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True):
        """(dotted name, buffer) of all buffers."""
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers: bool = True) -> list:
        """All buffers."""
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def clear_gradients(self) -> None:
        """Set the gradients of all parameters to zero."""
        for p in self.parameters():
            if not p.stop_gradient:
                p.clear_gradient()

    # -- state
    def _state(self, destination, include_sublayers, prefix, use_hook, every):
        for name, p in self._parameters.items():
            if p is not None:
                destination[prefix + name] = p
        for name, b in self._buffers.items():
            if b is not None and (every or name not in self._non_persistable_buffer_names_set):
                destination[prefix + name] = b
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None:
                    layer._state(destination, True, prefix + name + ".", use_hook, every)
        if use_hook:
            for hook in list(self._state_dict_hooks.values()):
                changed = hook(destination)
                if changed is not None:
                    destination = changed
        return destination

    def state_dict(self, destination=None, include_sublayers: bool = True,
                   structured_name_prefix: str = "", use_hook: bool = True) -> dict:
        """All parameters and persistable buffers by dotted name: the tensors themselves."""
        return self._state(OrderedDict() if destination is None else destination,
                           include_sublayers, structured_name_prefix, use_hook, False)

    def to_static_state_dict(self, destination=None, include_sublayers: bool = True,
                             structured_name_prefix: str = "", use_hook: bool = True) -> dict:
        """`state_dict` with the buffers that are not persistable too."""
        return self._state(OrderedDict() if destination is None else destination,
                           include_sublayers, structured_name_prefix, use_hook, True)

    def set_state_dict(self, state_dict: dict, use_structured_name: bool = True) -> tuple:
        """Load values by dotted name (or by parameter name); returns (missing, unexpected) keys.

        A value of the wrong shape only warns: its key is then in both lists and the parameter
        keeps its values. dtypes of the parameters stay.
        """
        missing, matched = [], {}
        for key, target in self._state(OrderedDict(), True, "", False, False).items():
            name = key if use_structured_name else target.name
            value = state_dict.get(name)
            if value is None:
                missing.append(name)
                warnings.warn(f"Skip loading for {key}. {name} is not found in the provided dict.",
                              stacklevel=2)
                continue
            value = value if isinstance(value, Tensor) or is_array(value) else np.asarray(value)
            if list(value.shape) != list(target.shape):
                missing.append(name)
                warnings.warn(f"Skip loading for {key}. {name} receives a shape "
                              f"{list(value.shape)}, but the expected shape is "
                              f"{list(target.shape)}.", stacklevel=2)
                continue
            matched[name] = (target, value)
        for target, value in matched.values():
            target.set_value(value)
        return missing, [k for k in state_dict
                         if k not in matched and k != "StructuredToParameterName@@"]

    set_dict = load_dict = set_state_dict

    def to(self, device=None, dtype=None, blocking: bool | None = None) -> "Layer":
        """Move parameters and buffers to a device; cast those of floating dtype; returns self."""
        kind = None if dtype is None else convert_dtype(dtype)
        place = None if device is None else parse(device)
        for t in [*self.parameters(), *self.buffers()]:
            _move(t, place, kind)
        if kind is not None and kind.is_floating:
            for layer in self.sublayers(include_self=True):
                layer._dtype = kind.name
        return self

    def astype(self, dtype=None) -> "Layer":
        """Cast the floating parameters and buffers; returns self."""
        return self.to(dtype=dtype)

    def float(self, excluded_layers=None) -> "Layer":
        """float32 parameters and buffers, but for layers of the excluded types."""
        return self._cast("float32", excluded_layers)

    def float16(self, excluded_layers=None) -> "Layer":
        """float16 parameters and buffers, but for layers of the excluded types."""
        return self._cast("float16", excluded_layers)

    def _cast(self, dtype, excluded):
        excluded = tuple(excluded) if isinstance(excluded, (list, tuple)) else \
            (excluded,) if excluded else ()
        kind = convert_dtype(dtype)
        for layer in self.sublayers(include_self=True):
            if not isinstance(layer, excluded):
                for t in [*layer._parameters.values(), *layer._buffers.values()]:
                    if t is not None:
                        _move(t, None, kind)
                layer._dtype = kind.name
        return self

    def __repr__(self) -> str:
        lines = []
        extra = self.extra_repr()
        for name, layer in self._sub_layers.items():
            lines.append(f"({name}): " + repr(layer).replace("\n", "\n  "))
        if not lines:
            return f"{type(self).__name__}({extra})"
        head = f"{extra}\n  " if extra else "\n  "
        return f"{type(self).__name__}({head}" + "\n  ".join(lines) + "\n)"


def _no_init(layer) -> ValueError:
    return ValueError(f"{type(layer).__name__}: super().__init__() must be called first, before "
                      "parameters or layers are set")


def _check_name(layer, name, group) -> None:
    if group not in layer.__dict__:
        raise _no_init(layer)
    if not isinstance(name, str):
        raise TypeError(f"a name must be a string, got {name!r}")
    if not name or "." in name:
        raise KeyError(f"the name {name!r} must not be empty or hold a dot")
    if hasattr(layer, name) and name not in getattr(layer, group):
        raise KeyError(f"{type(layer).__name__} has an attribute {name!r} already")


def _forget(layer, name, *groups) -> None:
    """A name has one meaning: remove what another kind holds under it."""
    layer.__dict__.pop(name, None)
    for group in groups:
        if group:
            group.pop(name, None)


def _move(t, place, kind) -> None:
    array = t._data if place is None else asarray(t._data, place)
    if kind is not None and array.dtype.kind == "f" and array.dtype != kind.np:
        array = array.astype(kind.np)
    if array is not t._data:
        t._data = array
        if t._grad is not None and isinstance(t._grad, Tensor):
            _move(t._grad, place, kind)


# ---- containers
class Sequential(Layer):
    """Layers that run one after another; also (name, layer) pairs.

    >>> import minipaddle as paddle
    >>> net = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.ReLU())
    >>> net(paddle.ones([2, 3])).shape, len(net)
    ([2, 4], 2)
    """

    def __init__(self, *layers) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (dict, list)):
            given = layers[0]
            layers = tuple(given.items() if isinstance(given, dict) else given)
        for i, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, (tuple, list)) else (str(i), layer)
            self.add_sublayer(str(name), layer)

    def forward(self, input):
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def _key(self, name):
        if isinstance(name, str):
            return name
        keys = list(self._sub_layers)
        if not -len(keys) <= name < len(keys):
            raise IndexError(f"index {name} is out of range for {len(keys)} layers")
        return keys[name]

    def __getitem__(self, name):
        if isinstance(name, slice):
            return type(self)(*list(self._sub_layers.items())[name])
        return self._sub_layers[self._key(name)]

    def __setitem__(self, name, layer) -> None:
        self.add_sublayer(self._key(name), layer)

    def __delitem__(self, name) -> None:
        del self._sub_layers[self._key(name)]

    def append(self, module: Layer) -> "Sequential":
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), module)
        return self

    def extend(self, sequential) -> "Sequential":
        """Add several layers at the end."""
        for layer in sequential:
            self.append(layer)
        return self

    def insert(self, index: int, module: Layer) -> "Sequential":
        """Put a layer before position index; the later ones are numbered anew."""
        layers = list(self._sub_layers.values())
        layers.insert(index, module)
        self._sub_layers.clear()
        for layer in layers:
            self.append(layer)
        return self


class LayerList(Layer):
    """A list whose layers are registered.

    >>> import minipaddle as paddle
    >>> layers = paddle.nn.LayerList([paddle.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(layers.parameters())
    (3, 6)
    """

    def __init__(self, sublayers=None) -> None:
        super().__init__()
        for i, layer in enumerate(sublayers or ()):
            self.add_sublayer(str(i), layer)

    def _index(self, idx: int, end: int = 0) -> int:
        n = len(self._sub_layers)
        if not isinstance(idx, int) or not -n <= idx < n + end:
            raise IndexError(f"index {idx} is out of range for {n} layers")
        return idx + n if idx < 0 else idx

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._sub_layers.values())[idx])
        return self._sub_layers[str(self._index(idx))]

    def __setitem__(self, idx, sublayer) -> None:
        self.add_sublayer(str(self._index(idx)), sublayer)

    def __delitem__(self, idx) -> None:
        layers = list(self._sub_layers.values())
        del layers[idx]
        self._replace(layers)

    def __add__(self, other) -> "LayerList":
        return type(self)([*self, *other])

    def _replace(self, layers) -> None:
        self._sub_layers.clear()
        for i, layer in enumerate(layers):
            self.add_sublayer(str(i), layer)

    def append(self, sublayer: Layer) -> "LayerList":
        """Add a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers) -> "LayerList":
        """Add several layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Put a layer before position index."""
        layers = list(self)
        layers.insert(self._index(index, 1), sublayer)
        self._replace(layers)

    def pop(self, key: int = -1) -> Layer:
        """Take a layer out and return it."""
        layers = list(self)
        layer = layers.pop(key)
        self._replace(layers)
        return layer


class LayerDict(Layer):
    """A dict whose layers are registered.

    >>> import minipaddle as paddle
    >>> heads = paddle.nn.LayerDict({'a': paddle.nn.Linear(2, 1), 'b': paddle.nn.Linear(2, 3)})
    >>> heads['b'](paddle.ones([1, 2])).shape
    [1, 3]
    """

    def __init__(self, sublayers=None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key: str) -> Layer:
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers)

    def __contains__(self, key: str) -> bool:
        return key in self._sub_layers

    def clear(self) -> None:
        """Take all layers out."""
        self._sub_layers.clear()

    def pop(self, key: str) -> Layer:
        """Take a layer out and return it."""
        return self._sub_layers.pop(key)

    def keys(self):
        return self._sub_layers.keys()

    def values(self):
        return self._sub_layers.values()

    def items(self):
        return self._sub_layers.items()

    def update(self, sublayers) -> None:
        """Add layers from a dict, a LayerDict or pairs."""
        for key, layer in sublayers.items() if hasattr(sublayers, "items") else sublayers:
            self.add_sublayer(key, layer)


class ParameterList(Layer):
    """A list whose parameters are registered.

    >>> import minipaddle as paddle
    >>> weights = paddle.nn.ParameterList([paddle.create_parameter([2], 'float32')])
    >>> len(weights.append(paddle.create_parameter([3], 'float32')))
    2
    """

    def __init__(self, parameters=None) -> None:
        super().__init__()
        for p in parameters or ():
            self.append(p)

    def _key(self, idx):
        n = len(self._parameters)
        if not -n <= idx < n:
            raise IndexError(f"index {idx} is out of range for {n} parameters")
        return str(idx % n)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._parameters.values())[idx])
        return self._parameters[self._key(idx)]

    def __setitem__(self, idx, param) -> None:
        self.add_parameter(self._key(idx), param)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def append(self, parameter: Parameter) -> "ParameterList":
        """Add a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self


class ParameterDict(Layer):
    """A dict whose parameters are registered.

    >>> import minipaddle as paddle
    >>> weights = paddle.nn.ParameterDict({'w': paddle.create_parameter([2], 'float32')})
    >>> weights['w'].shape
    [2]
    """

    def __init__(self, parameters=None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Parameter:
        return self._parameters[key]

    def __setitem__(self, key: str, param: Parameter) -> None:
        self.add_parameter(key, param)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def update(self, parameters) -> None:
        """Add parameters from a dict or pairs."""
        for key, p in parameters.items() if hasattr(parameters, "items") else parameters:
            self.add_parameter(key, p)
