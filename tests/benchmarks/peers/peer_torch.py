# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of the benchmarks: eager, fused Adam, inference mode where nothing is to be differentiated, images in
the memory format that is faster."""

import sys
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from common import MLP_SIZES, Work, fastest, fill, labels, parameter, serve

BATCH = 64
FORMATS = (torch.contiguous_format, torch.channels_last)


def tensor(seed, scale, *shape):
    return torch.from_numpy(fill(seed, scale, *shape))


def inference(statement, **names):
    return Work(statement, {"torch": torch, "F": F, **names}, mode=torch.inference_mode)


def with_parameters(model):
    with torch.no_grad():
        for index, value in enumerate(model.parameters()):
            value.copy_(torch.from_numpy(parameter(index, tuple(value.shape))))
    return model


def mlp():
    layers = []
    for inputs, outputs in zip(MLP_SIZES, MLP_SIZES[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return with_parameters(nn.Sequential(*layers[:-1]))


def cnn():
    return with_parameters(nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10)))


def cnn_training(memory_format):
    x = tensor(100, 2, BATCH, 1, 28, 28).contiguous(memory_format=memory_format)
    return training(cnn().to(memory_format=memory_format), x)


def training(model, x):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    y = torch.from_numpy(labels(BATCH))

    def step():
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Work("step()", {"step": step})


def adam():
    parameters = [nn.Parameter(torch.from_numpy(parameter(i, (1000, 1000)))) for i in range(10)]
    for i, value in enumerate(parameters):
        value.grad = tensor(100 + i, 1e-2, 1000, 1000)
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    return Work("step()", {"step": optimizer.step}, result=lambda: parameters[0].detach())


def matmul(m, n, k):
    return inference("torch.mm(a, b)", a=tensor(1, 1, m, k), b=tensor(2, 1, k, n))


def convolution(memory_format):
    x, weight = (value.contiguous(memory_format=memory_format) for value in (tensor(1, 1, 1, 64, 56, 56), tensor(2, 1, 64, 64, 3, 3)))
    return inference("F.conv2d(x, w, b, padding=1)", x=x, w=weight, b=tensor(3, 1, 64))


def pooling(memory_format):
    return inference("F.max_pool2d(x, 2)", x=tensor(1, 1, 64, 32, 28, 28).contiguous(memory_format=memory_format))


def in_either_format(make):
    return lambda part: fastest(*(partial(make, memory_format) for memory_format in FORMATS))


def gather():
    rows = torch.arange(100000) * 2654435761 % 100000
    return inference("torch.index_select(x, 0, rows)", x=tensor(1, 1, 100000, 128), rows=rows)


def sum_strided(part):
    if part == "columns":
        return inference("x.sum()", x=tensor(1, 1, 2048, 4096)[:, ::2])
    return inference("x.sum(1)", x=tensor(1, 1, 2048, 2048).T)


def main():
    torch.set_num_threads(int(sys.argv[1]))
    watched = tensor(1, 1, 16).requires_grad_()
    serve(f"torch {torch.__version__}", {
        "mlp_step_eager": lambda part: training(mlp(), tensor(100, 2, BATCH, 784)),
        "cnn_step_eager": in_either_format(cnn_training),
        "adam_10m": lambda part: adam(),
        "add16_c_grad": lambda part: Work("a + b", {"a": watched, "b": tensor(2, 1, 16)}),
        "matmul_1024": lambda part: matmul(1024, 1024, 1024),
        "matmul_small": lambda part: matmul(*map(int, part.split("x"))),
        "conv_64x56": in_either_format(convolution),
        "chain_eager": lambda part: inference("F.gelu(2 * x + 1) * torch.sigmoid(x)", x=tensor(1, 8, 4 << 20)),
        "softmax_rows": lambda part: inference("torch.softmax(x, -1)", x=tensor(1, 8, 8192, 1000)),
        "layer_norm_rows": lambda part: inference("F.layer_norm(x, (768,), w, b)", x=tensor(1, 8, 8192, 768),
                                                  w=tensor(2, 1, 768), b=tensor(3, 1, 768)),
        "sum_all_4m": lambda part: inference("x.sum()", x=tensor(1, 1, 2048, 2048)),
        "sum_axis0": lambda part: inference("x.sum(0)", x=tensor(1, 1, 2048, 2048)),
        "sum_strided": sum_strided,
        "gather_rows": lambda part: gather(),
        "max_pool": in_either_format(pooling),
    }, to_numpy=lambda value: value.detach().numpy())


main()
