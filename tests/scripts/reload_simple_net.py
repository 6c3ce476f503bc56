import numpy as np
import paddle

net = paddle.jit.load('./simple_net')
net.eval()
with np.load('./expected.npz') as expected:
    out = net(paddle.to_tensor(expected['x']), paddle.to_tensor(expected['y']))
    print('difference', float(np.abs(out.numpy() - expected['out']).max()))
    print('batch of 7:', net(paddle.rand([7, 10]), paddle.rand([3])).shape)
