#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier on Fashion-MNIST, saves it, loads it back and reports its accuracy."""

import argparse
import contextlib
import sys

import dlcore as dl
from dlcore import data, nn, optim


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5, metavar="N", help="passes over the training set (5)")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads of the engine (0: all)")
    parser.add_argument("--seed", type=int, default=8, metavar="N", help="seed of weights and order (8)")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="stop after N steps of this run")
    parser.add_argument("--data", metavar="DIR", help="directory with the IDX files, plain or gzip")
    parser.add_argument("--losses", metavar="FILE", help="write the loss of each step, as a hexadecimal float")
    parser.add_argument("--save", default="fashion.safetensors", metavar="FILE", help="where the model goes")
    parser.add_argument("--checkpoint", metavar="FILE", help="write the state of the training at the end")
    parser.add_argument("--resume", metavar="FILE", help="go on from such a state")
    return parser.parse_args()


def classifier():
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


def generated(n, seed):
    """Ten fixed random patterns with noise on top, in place of a data set that is not installed."""
    dl.manual_seed(7)
    patterns = dl.random_uniform([10, 784])
    dl.manual_seed(seed)
    noise = dl.random_uniform([n, 784])
    labels = dl.random_integers([n], 0, 10)
    return data.from_tensors(dl.one_hot(labels, 10) @ patterns * 0.5 + noise * 0.5, labels)


def batches(part, size, shuffle=False):
    try:
        return data.fashion_mnist(part).batch(size, shuffle)
    except dl.NotFound:
        print(f"Fashion-MNIST ({part}) is not installed (package dataset-fashion-mnist): using generated data instead")
        return (generated(6000, seed=11) if part == "train" else generated(1000, seed=12)).batch(size, shuffle)


def c_hex(value):
    """As C's %a prints it: without trailing zeros."""
    mantissa, p, exponent = value.hex().partition("p")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + p + exponent


def train(arguments, losses):
    data.set_directory(arguments.data)
    training = batches("train", 64, shuffle=True)
    test = batches("test", 1000)
    model, copy = classifier(), classifier()
    adam = optim.Adam(model.parameters(), lr=1e-3)
    state = dl.Checkpoint(model=model, adam=adam, train=training)
    if arguments.resume:
        state.load(arguments.resume)

    @dl.compile  # optional: without it the same lines run eagerly, with the same bits
    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        adam.step()  # uses the gradients and clears them
        return loss

    steps = 0
    for epoch in range(training.epoch, arguments.epochs):
        for x, y in (bar := dl.progress(training, f"epoch {epoch + 1}/{arguments.epochs}")):
            loss = step(x, y).item()
            bar.note(loss=loss)
            steps += 1
            if losses:
                print(c_hex(loss), file=losses)
            if steps == arguments.limit:
                break
        if steps == arguments.limit:
            break

    if arguments.checkpoint:
        state.save(arguments.checkpoint)
    model.save(arguments.save)
    copy.load(arguments.save)
    with dl.inference():
        right = sum((copy(x).argmax(axis=1) == y).sum().item() for x, y in test)
    print(f"accuracy {right / test.samples:.4f}")


def main():
    arguments = options()
    try:
        losses = open(arguments.losses, "w", encoding="ascii") if arguments.losses else contextlib.nullcontext()
        with losses as file, dl.Engine(threads=arguments.threads) as engine, engine.context(seed=arguments.seed):
            train(arguments, file)
    except (dl.Error, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
