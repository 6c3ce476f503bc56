import paddle
from paddle.fluid.dygraph import Layer
from paddle.jit import to_static
from paddle.static import InputSpec


class SimpleNet(Layer):
    def __init__(self):
        super(SimpleNet, self).__init__()
        self.linear = paddle.nn.Linear(10, 3)

    @to_static(input_spec=[InputSpec(shape=[None, 10], name='x'), InputSpec(shape=[3], name='y')])
    def forward(self, x, y):
        out = self.linear(x)
        out = out + y
        return out


net = SimpleNet()
paddle.jit.save(net, './simple_net')

# The announcement ends here; what follows writes down what the reloaded net must give.
import numpy as np  # noqa: E402

x, y = paddle.rand([4, 10]), paddle.rand([3])
np.savez('./expected.npz', x=x.numpy(), y=y.numpy(), out=net(x, y).numpy())
