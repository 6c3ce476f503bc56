"""One training step of the demo on the strict stand-in for CuPy; prints its traffic as JSON."""
import json

import numpy as np
import strict_cupy

strict_cupy.install()
import minipaddle as paddle  # noqa: E402
from minipaddle import demo  # noqa: E402

paddle.set_device("gpu")
paddle.seed(0)
net = demo.DigitNet()
rate = paddle.optimizer.lr.CosineAnnealingDecay(0.005, T_max=100)
optimizer = paddle.optimizer.AdamW(rate, parameters=net.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
draw = np.random.default_rng(0)
image = paddle.to_tensor(draw.random((16, 1, 8, 8), "float32"))
label = paddle.to_tensor(draw.integers(0, 10, (16, 1)))


def step():
    loss = demo.train_step(net, paddle.nn.CrossEntropyLoss(), optimizer, scaler, image, label)
    rate.step()
    return loss


first = float(step())                           # makes the moments, which may cost uploads once
strict_cupy.stats.reset()
for _ in range(10):
    loss = step()
log = [list(entry) for entry in strict_cupy.stats.log]
print(json.dumps({"log": log, "place": str(loss.place), "losses": [first, float(loss)]}))
