#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From the start of the process to a finished training step of 784-256-128-10, as worker/first_step.c."""

import dlcore as dl
from dlcore import nn, optim

model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
adam = optim.Adam(model.parameters(), lr=1e-3)
x, y = dl.random_normal([64, 784]), dl.random_integers([64], 0, 10)
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
adam.step()
print("step", loss.item(), flush=True)
