# SPDX-License-Identifier: Apache-2.0
"""PyTorch's first_step: from the start of the process to a finished training step."""

import torch
from torch import nn
from torch.nn import functional as F

from common import MLP_SIZES, fill, labels, parameter

layers = []
for inputs, outputs in zip(MLP_SIZES, MLP_SIZES[1:]):
    layers += [nn.Linear(inputs, outputs), nn.ReLU()]
model = nn.Sequential(*layers[:-1])
with torch.no_grad():
    for index, value in enumerate(model.parameters()):
        value.copy_(torch.from_numpy(parameter(index, tuple(value.shape))))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
loss = F.cross_entropy(model(torch.from_numpy(fill(100, 2, 64, 784))), torch.from_numpy(labels(64)))
loss.backward()
optimizer.step()
print(f"step {loss.item():.9g}", flush=True)
