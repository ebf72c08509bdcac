# SPDX-License-Identifier: Apache-2.0
"""PyTorch's version of examples/fashion_mnist, shortened to what its memory depends on: train_torch.py STEPS"""

import gzip
import sys
from pathlib import Path

import numpy
import torch
from torch import nn
from torch.nn import functional as F

from common import MLP_SIZES

DATA = Path("/usr/share/datasets/fashion-mnist")


def idx(name, header):
    with gzip.open(DATA / name) as file:
        return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy())


def images(part, count):
    if not DATA.exists():
        return torch.rand(count // 10, 784), torch.arange(count // 10) % 10
    return idx(f"{part}-images-idx3-ubyte.gz", 16).reshape(count, 784), idx(f"{part}-labels-idx1-ubyte.gz", 8).long()


def rows(x, index):
    return x[index] if x.is_floating_point() else x[index].float() / 255


layers = []
for inputs, outputs in zip(MLP_SIZES, MLP_SIZES[1:]):
    layers += [nn.Linear(inputs, outputs), nn.ReLU()]
model = nn.Sequential(*layers[:-1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
x, y = images("train", 60000)
order = torch.randperm(len(x))
for step in range(int(sys.argv[1])):
    index = order[step * 64 % (len(x) - 64):][:64]
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(model(rows(x, index)), y[index]).backward()
    optimizer.step()
x, y = images("t10k", 10000)
with torch.inference_mode():
    hits = sum(int((model(rows(x, slice(i, i + 1000))).argmax(1) == y[i:i + 1000]).sum()) for i in range(0, len(x), 1000))
print(f"accuracy {hits / len(x):.4f}")
