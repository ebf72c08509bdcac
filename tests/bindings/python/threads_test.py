#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts of threads and tasks, on one engine."""

import asyncio
import concurrent.futures
import logging
import os
import queue
import threading
import time

import dlcore as dl
from dlcore import _dlcore as raw
from dlcore import nn, optim
from support import Case, main


class Threads(Case):
    def run_all(self, jobs):
        """Each on a thread of its own; their results, or what they raised."""
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
            return [done.result() for done in [pool.submit(job) for job in jobs]]

    def test_each_thread_has_a_context(self):
        barrier = threading.Barrier(4)

        def work():
            found = dl.current()
            barrier.wait()
            return found, dl.tensor([1.0, 2.0]).sum().item()

        found = self.run_all([work] * 4)
        self.assertEqual([value for _, value in found], [3.0] * 4)
        self.assertEqual(len({id(context) for context, _ in found}), 4)
        self.assertIs(dl.current(), self.context)

    def test_each_task_has_a_context(self):
        async def work(n):
            mine = dl.current()
            x = dl.tensor([float(n)])
            await asyncio.sleep(0)
            self.assertIs(dl.current(), mine)
            there = await asyncio.to_thread(lambda: (dl.current(), dl.tensor([1.0]).item()))
            self.assertEqual(there[1], 1.0)
            self.assertIs((x + 1).context, mine)
            return mine, there[0]

        async def all_of_them():
            return [context for pair in await asyncio.gather(*map(work, range(8))) for context in pair]

        contexts = asyncio.run(all_of_them())
        self.assertEqual(len({id(context) for context in contexts}), 16)
        self.assertEqual({context.engine.address for context in contexts}, {self.engine.address})
        self.assertIs(dl.current(), self.context)
        del contexts

    def test_32_threads(self):
        """Each trains a model of its own from the same seed: all get the same bits."""

        def train():
            with self.engine.context(seed=5):
                model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
                adam = optim.Adam(model.parameters(), lr=0.01)
                x, y = dl.random_normal([32, 8]), dl.random_integers([32], 0, 2)
                for _ in range(20):
                    loss = nn.functional.cross_entropy(model(x), y)
                    loss.backward()
                    adam.step()
                return loss.item(), model.to_bytes()

        self.assertEqual(len(set(self.run_all([train] * 32))), 1)

    def test_one_model_on_many_threads(self):
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).snapshot()
        rows = dl.random_normal([8, 8]).tolist()
        expected = [model(dl.tensor([row])).tolist() for row in rows]

        def answer():
            with self.engine.context():
                return [model(dl.tensor([row])).tolist() for row in rows]

        self.assertEqual(self.run_all([answer] * 8), [expected] * 8)

    def test_parts_on_another_thread(self):
        """What is no tensor runs on the context of whoever calls."""
        model = nn.Linear(2, 2)
        sgd = optim.SGD(model.parameters(), lr=0.1)
        parts = [model, sgd]
        busy = dl.custom_op("test_busy")(lambda x: self.run_all([train])[0] or x * 1)  # while this context is in a call

        def train():
            with self.engine.context():
                parts[0](dl.tensor([[1.0, 2.0]])).sum().backward()
                parts[1].step()
                parts[0].variables()[0].value.tolist()
                parts[1].learning_rate = 0.2

        busy(dl.tensor([1.0]))
        self.assertEqual(sgd.learning_rate, 0.2)
        del parts[:]  # the op stays with the engine, and with it what it refers to

    def test_intruders(self):
        """A second thread on one context is refused, or comes when it is free; nothing breaks."""
        x = dl.random_normal([200, 200])
        errors = []

        def work():
            for _ in range(50):
                try:
                    x @ x
                except dl.FailedPrecondition as error:
                    errors.append(str(error))

        self.run_all([work] * 3)
        while True:
            try:
                x @ x
                break
            except dl.FailedPrecondition as error:
                errors.append(str(error))
        self.assertTrue(all("thread" in text for text in errors), errors)

    def test_releasing_elsewhere_makes_no_call_fail(self):
        made = queue.Queue(16)

        def release():
            for tensor in iter(made.get, None):
                del tensor

        thread = threading.Thread(target=release)
        thread.start()
        x = dl.random_normal([200, 200])
        try:
            for _ in range(300):
                made.put(x + 1)
                made.put(x @ x)
        finally:
            made.put(None)
            thread.join()

    def test_nested_contexts(self):
        with self.engine.context(seed=1) as outer:
            with self.engine.context(seed=2) as inner:
                self.assertIs(dl.current(), inner)
            self.assertIs(dl.current(), outer)
            self.assertTrue(inner.released)
        self.assertIs(dl.current(), self.context)

    def test_others_run_meanwhile(self):
        x, turns = dl.random_normal([700, 700]), []
        done = threading.Event()

        def count():
            while not done.is_set():
                turns.append(1)
                time.sleep(0.0005)

        thread = threading.Thread(target=count)
        thread.start()
        before = len(turns)
        for _ in range(20):
            x @ x
        after = len(turns)
        done.set()
        thread.join()
        self.assertGreater(after, before)

    def test_log(self):
        with dl.Engine(threads=1) as engine, self.assertLogs("dlcore.test", logging.WARNING) as logs:
            raw.dlcore_engine_log(engine, raw.DLCORE_LOG_INFO, "test", "quiet")
            raw.dlcore_engine_log(engine, raw.DLCORE_LOG_WARNING, "test", "größe 🙂")
            deadline = time.monotonic() + 10
            while not logs.output and time.monotonic() < deadline:
                time.sleep(0.01)
        self.assertEqual(logs.output, ["WARNING:dlcore.test:größe 🙂"])

    def test_fork(self):
        x = dl.tensor([1.0, 2.0])
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if (x + 1).tolist() == [2.0, 3.0] else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    main()
