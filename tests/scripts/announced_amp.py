import paddle

paddle.seed(2021)
model = paddle.nn.Sequential(
    paddle.nn.Conv2D(3, 4, 3, bias_attr=True),
    paddle.nn.ReLU(),
    paddle.nn.Flatten(),
    paddle.nn.Linear(4 * 6 * 6, 2),
)
optimizer = paddle.optimizer.SGD(learning_rate=0.05, parameters=model.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
data = paddle.rand([10, 3, 8, 8])
target = paddle.concat([data.mean(axis=[1, 2, 3]).reshape([10, 1])] * 2, axis=1)

for step in range(20):
    with paddle.amp.auto_cast():
        output = model(data)
        loss = paddle.nn.functional.mse_loss(output, target)

    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    optimizer.clear_grad()
    print("step", step, "loss", float(loss))
