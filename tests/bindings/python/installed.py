#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The package as pip has installed it: it holds the library, and trains."""

import importlib.metadata
import sys
from pathlib import Path

import dlcore as dl
from dlcore import nn, optim

assert Path(dl.__file__).is_relative_to(sys.prefix), dl.__file__
assert importlib.metadata.version("libdlcore") == dl.__version__
loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libdlcore" in line}
assert loaded and all(Path(path).is_relative_to(Path(sys.prefix).resolve()) for path in loaded), loaded
files = {Path(str(file)).name for file in importlib.metadata.files("libdlcore")}
assert {"py.typed", "_dlcore.pyi", "__init__.py"} <= files and any(name.startswith("libdlcore.so") for name in files), files
assert not any(name.endswith(".h") for name in files), files

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
adam = optim.Adam(model.parameters(), lr=0.05)
x = dl.random_normal([32, 4])
losses = []
for _ in range(50):
    loss = nn.functional.mse_loss(model(x), x.sum(axes=1, keepdims=True))
    loss.backward()
    adam.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 4, losses
print(f"dlcore {dl.__version__} in {Path(dl.__file__).parent}")
