#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Answers requests from many threads while one more trains the model: one engine, a context for each thread. Workers
answer from a snapshot, which no step of the optimizer changes; after every step the trainer publishes the next one."""

import argparse
import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import dlcore as dl
from dlcore import nn, optim

PIXELS, CLASSES, PROBES, MAX_STEPS = 784, 10, 8, 4096


def probe(number):
    """The pixels of a request, from a generator of its own."""
    state, pixels = (number * 2654435761 + 1) % 2**32, []
    for _ in range(PIXELS):
        state = (state * 1664525 + 1013904223) % 2**32
        pixels.append((state >> 8) / 2**24)
    return [pixels]


class Service:
    def __init__(self, engine, model):
        self.engine, self.model = engine, model
        self.probes = [probe(number) for number in range(PROBES)]
        self.known = [set() for _ in range(PROBES)]  # what the model of each step answers
        self.publish()

    def publish(self):
        """What the model is now becomes what workers answer from."""
        snapshot = self.model.snapshot()
        for number, pixels in enumerate(self.probes):
            self.known[number].add(snapshot(dl.tensor(pixels)).tobytes())
        self.published = snapshot

    def work(self, requests, check):
        """Answers until there are no more requests; returns how many it had, and how many answers were wrong."""
        served = wrong = 0
        with self.engine.context(), dl.inference():
            for request in requests:
                number = request % PROBES
                scores = self.published(dl.tensor(self.probes[number])).tobytes()
                served += 1
                wrong += check and scores not in self.known[number]
        return served, wrong

    def train(self, busy):
        adam = optim.Adam(self.model.parameters(), lr=1e-3)
        for step in itertools.count(1):
            x, y = dl.random_uniform([64, PIXELS]), dl.random_integers([64], 0, CLASSES)
            nn.functional.cross_entropy(self.model(x), y).backward()
            adam.step()
            self.publish()
            if not busy() or step == MAX_STEPS:
                return step


class Requests:
    """The numbers of the requests, each given to one of the threads that ask."""

    def __init__(self, count):
        self.numbers, self.lock, self.done = iter(range(1, count + 1)), threading.Lock(), False

    def stop(self):
        with self.lock:
            self.numbers = iter(())

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            try:
                return next(self.numbers)
            except StopIteration:
                self.done = True
                raise


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10000, metavar="N", help="how many are answered (10000)")
    parser.add_argument("--workers", type=int, default=32, metavar="N", help="threads that answer (32)")
    parser.add_argument("--check", action="store_true", help="every answer must be that of the model after some step")
    arguments = parser.parse_args()
    requests = Requests(arguments.requests)
    with dl.Engine() as engine, engine.context(seed=8):
        service = Service(engine, nn.Sequential(nn.Linear(PIXELS, 256), nn.ReLU(), nn.Linear(256, CLASSES)))
        with ThreadPoolExecutor(arguments.workers) as pool:
            workers = [pool.submit(service.work, requests, arguments.check) for _ in range(arguments.workers)]
            try:
                steps = service.train(busy=lambda: not requests.done)
            except BaseException:  # as Ctrl-C: what was begun is answered, nothing new is
                requests.stop()
                raise
        served, wrong = map(sum, zip(*(worker.result() for worker in workers)))
    print(f"{served} requests, {wrong} wrong, {steps} steps")
    return 0 if served == arguments.requests and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
