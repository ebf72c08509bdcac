# SPDX-License-Identifier: Apache-2.0
"""What a type checker must find in a user's program: see types_test.py. It is not run."""

from typing import assert_type

import dlcore as dl
import numpy as np
from dlcore import data, nn, optim


class Residual(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner = nn.Linear(features, features)

    def forward(self, x: dl.Tensor) -> dl.Tensor:
        return x + self.inner(x).relu()


model = nn.Sequential(nn.Linear(784, 256, init="he_normal"), Residual(256), nn.Linear(256, 10))
adam = optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.1)
sgd = optim.SGD([{"params": model.parameters(), "lr": 0.1}])
train = data.fashion_mnist("train").batch(64, shuffle=True)


@dl.compile
def step(x: dl.Tensor, y: dl.Tensor) -> dl.Tensor:
    loss = nn.functional.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    adam.step()
    return loss


for x, y in dl.progress(train, "epoch"):
    assert_type(x, dl.Tensor)
    assert_type(step(x, y), dl.Tensor)
assert_type(dl.tensor([1.0]) + 1, dl.Tensor)
assert_type(2 / dl.tensor(np.ones(3)), dl.Tensor)
assert_type(dl.tensor([1.0]).sum(axes=(0, 1), keepdims=True), dl.Tensor)
assert_type(dl.concat([dl.tensor([1.0])], axis=0), dl.Tensor)
assert_type(dl.tensor([1.0])[0, ..., None, 1:], dl.Tensor)
assert_type(dl.tensor([1.0]).shape, tuple[int, ...])
with dl.Engine(threads=2) as engine, engine.context(seed=1) as context, dl.no_grad():
    assert_type(context, dl.Context)

dl.tensor([1.0]).sum(axis=0)  # error: Unexpected keyword argument "axis"
dl.gelu(dl.tensor([1.0]), approximate="nearly")  # error: incompatible type
dl.tensor([1.0]).astype("f31")  # error: incompatible type
dl.add(dl.tensor([1.0]), "1")  # error: incompatible type
nn.Linear("784", 256)  # error: incompatible type
nn.Linear(784)  # error: Missing positional argument
optim.Adam(model.parameters(), rate=0.1)  # error: Unexpected keyword argument "rate"
dl.cat([])  # error: Module has no attribute "cat"
dl.tensor([1.0]).shape = (1,)  # error: is read-only
