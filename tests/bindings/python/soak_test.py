#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same calls again and again: live handles stay what they are, and resident memory within 5 %.

  soak_test.py [CALLS]    so many calls, and a tenth as many that fail (50,000)
"""

import gc
import sys

import dlcore as dl
from dlcore import data, nn, optim
from support import live

LIMIT = 1.05
SHARE_TO_WARM_UP = 4


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


class Round:
    """Calls of all kinds; each method returns how many it made."""

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        self.adam = optim.Adam(self.model.parameters())
        self.x, self.y = dl.random_normal([4, 8]), dl.tensor([0, 1, 1, 0])
        self.loader = data.from_tensors(self.x, self.y).batch(2)
        self.step = dl.compile(lambda x: dl.softmax(self.model(x) * 2))

    def succeed(self):
        for x, y in self.loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            self.adam.step()
            loss.item()
        a = self.x
        for _ in range(50):
            a = (a * 0.5 + 1).relu()
        a[1:, ::2].tolist()
        self.step(self.x)
        dl.grad(lambda v: (v * v).sum())(self.x)
        dl.vmap(lambda v: v * 2)(self.x)
        memoryview(self.x).release()
        dl.from_dlpack(self.x, copy=False)
        dl.tensor([1.0, 2.0])
        return 2 * 5 + 150 + 25

    def fail(self):
        calls = [lambda: self.x.reshape([3]), lambda: self.x @ self.x, lambda: self.model(self.y), lambda: self.x.backward(),
                 lambda: self.x + "a", lambda: self.x[9], lambda: dl.grad(lambda v: v.reshape([5]))(self.x), lambda: nn.Linear(-1, 1),
                 lambda: dl.tensor([[1], [1, 2]]), lambda: self.x.astype("f1"), lambda: dl.capture(lambda v: v.tolist(), self.x)]
        for call in calls:
            try:
                call()
            except (dl.Error, TypeError):
                continue
            raise AssertionError("a call that should fail did not")
        return len(calls)


def repeat(act, calls):
    done = 0
    while done < calls:
        done += act()


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    failed = 0
    with dl.Engine(threads=1) as engine, engine.context(seed=1):
        turn = Round()
        for name, act, count in (("calls", turn.succeed, calls), ("failing calls", turn.fail, calls // 10)):
            repeat(act, count // SHARE_TO_WARM_UP)
            gc.collect()
            handles, memory = live(engine), resident()
            repeat(act, count)
            gc.collect()
            grown = resident() / memory
            flat = live(engine) == handles
            failed += not flat or grown > LIMIT
            print(f"{count} {name}: live handles {'flat' if flat else live(engine)}, resident memory {grown:.3f} of what it was")
        del turn
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
