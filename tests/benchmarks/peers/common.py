# SPDX-License-Identifier: Apache-2.0
"""What the peers' workers share: the numbers that all sides compute with, and the protocol of worker/main.c."""

import contextlib
import json
import sys
import timeit
from dataclasses import dataclass, field
from typing import Any, Callable, ContextManager

import numpy

CHECKED_TURNS = 3
TRIAL_S = 0.005
MLP_SIZES = (784, 256, 128, 10)


@dataclass
class Work:
    """A statement over names, timed as `timeit` does: in a loop of its own, without a call for each turn."""
    statement: str
    names: dict[str, Any]
    result: Callable[[], Any] | None = None  # what to check in place of the statement's value
    mode: Callable[[], ContextManager] = contextlib.nullcontext
    timer: timeit.Timer = field(init=False)

    def __post_init__(self):
        self.timer = timeit.Timer(self.statement, globals=self.names)

    def seconds(self, turns):
        with self.mode():
            return self.timer.timeit(turns)

    def value(self):
        with self.mode():
            for _ in range(CHECKED_TURNS):
                value = eval(self.statement, self.names)
            return self.result() if self.result else value


def fill(seed, scale, *shape):
    """Element i: scale * (h / 2^24 - 1/2), h the upper 24 bits of (i + 1000003 * seed) * 2654435761 modulo 2^32."""
    index = numpy.arange(numpy.prod(shape), dtype=numpy.uint32)
    hashed = (index + numpy.uint32(seed * 1000003 % 2**32)) * numpy.uint32(2654435761)
    return ((hashed >> 8).astype(numpy.float32) * numpy.float32(2**-24) - numpy.float32(0.5)).reshape(shape) * numpy.float32(scale)


def labels(rows):
    return numpy.arange(rows, dtype=numpy.int64) * 7 % 10


def parameter(index, shape):
    """Initial value of the model's parameter number `index`."""
    scale = 2 / numpy.sqrt(numpy.prod(shape[1:])) if len(shape) > 1 else 0.1
    return fill(index + 1, scale, *shape)


def fastest(*makers):
    """A new Work of the maker whose work takes the least: which setting is best depends on the processor."""
    def seconds(make):
        work = make()
        work.seconds(1)
        turns = max(1, int(TRIAL_S / max(work.seconds(1), 1e-7)))
        return min(work.seconds(turns) for _ in range(5)) / turns

    return min(makers, key=seconds)()


def checksum(value):
    """As in worker/main.c."""
    flat = numpy.asarray(value, dtype=numpy.float64).reshape(-1)
    total = float((flat * abs(flat)) @ (1.0 + numpy.arange(flat.size) % 7))
    return float(numpy.copysign(numpy.sqrt(abs(total)), total))


def serve(version, benchmarks, to_numpy=numpy.asarray):
    """Answers lines until there are no more; `benchmarks` maps a name to a function from its part to a Work."""
    print(json.dumps({"version": version}), flush=True)
    name, work = None, None
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            if verb == "drop":
                name = work = None
                answer = "dropped"
            elif words[0].partition("/")[0] not in benchmarks:
                answer = f"missing {words[0]}"
            else:
                if verb == "check" or name != words[0]:
                    name = work = None
                    base, _, part = words[0].partition("/")
                    name, work = words[0], benchmarks[base](part)
                if verb == "check":
                    answer = f"value {checksum(to_numpy(work.value())):.9g}"
                else:
                    answer = f"seconds {work.seconds(int(words[1])):.9f}"
        except Exception as error:  # the other side goes on with the next benchmark
            answer = "error " + " ".join(f"{type(error).__name__}: {error}".split())
        print(answer, flush=True)
