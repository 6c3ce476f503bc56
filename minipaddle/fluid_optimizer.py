"""paddle.fluid.optimizer: today's optimizers under their old names and arguments.

Imports optim and below. `parameter_list` is now `parameters`, `regularization` is `weight_decay`.
"""
from __future__ import annotations

from . import optim

_RENAMED = {"parameter_list": "parameters", "regularization": "weight_decay"}


def _old(new: type, *names: str) -> type:
    """The class derived from `new` whose arguments after learning_rate are `names`."""
    def __init__(self, learning_rate=0.001, *args, **keywords) -> None:
        if len(args) > len(names):
            raise TypeError(f"{old.__name__} takes learning_rate and {', '.join(names)}")
        keywords.update(zip(names, args))
        for before, now in _RENAMED.items():
            if before in keywords:
                keywords[now] = keywords.pop(before)
        super(old, self).__init__(learning_rate, **keywords)

    doc = (f"`paddle.optimizer.{new.__name__}` with the arguments of Paddle 1.8: "
           f"learning_rate, {', '.join(names)}.")
    old = type(f"{new.__name__}Optimizer", (new,),
               {"__init__": __init__, "__doc__": doc, "__module__": __name__})
    return old


_LAST = ("regularization", "grad_clip", "name")
SGD = SGDOptimizer = _old(optim.SGD, "parameter_list", *_LAST)
Momentum = MomentumOptimizer = _old(optim.Momentum, "momentum", "parameter_list", "use_nesterov",
                                    *_LAST)
Adam = AdamOptimizer = _old(optim.Adam, "beta1", "beta2", "epsilon", "parameter_list", *_LAST)
