#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cancellation: Ctrl-C, from another thread, by a deadline."""

import os
import signal
import subprocess
import sys
import threading
import time

import dlcore as dl
from support import Case, main

LONG = """
import os, signal, sys, threading, time
import dlcore as dl
engine = dl.Engine(threads=1)
context = engine.context(); context.__enter__()
x = dl.random_normal([3000, 3000])
if sys.argv[1] == "handler":
    signal.signal(signal.SIGINT, lambda *_: print("handled"))
sent = []
def interrupt():
    time.sleep(0.1)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    for _ in range(200):
        (x @ x).sum()
    print("came to its end")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0])
except dl.Cancelled:
    print("cancelled", time.monotonic() - sent[0])
print((dl.tensor([1.0]) + 1).item())
"""


class Cancel(Case):
    def long(self):
        x = dl.random_normal([1500, 1500])
        for _ in range(2000):
            x @ x

    def run_long(self, kind):
        done = subprocess.run([sys.executable, "-c", LONG, kind], stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        return done.stdout.split()

    def test_interrupt(self):
        """KeyboardInterrupt comes in the middle of a product that takes longer, and the next call is as ever."""
        words = self.run_long("")
        self.assertEqual((words[0], words[-1]), ("interrupted", "2.0"))
        self.assertLess(float(words[1]), 5)  # how soon exactly is measured by the benchmarks

    def test_own_handler(self):
        words = self.run_long("handler")
        self.assertEqual((words[0], words[1], words[-1]), ("handled", "cancelled", "2.0"))

    def test_handler_stays(self):
        before = signal.getsignal(signal.SIGINT)
        dl.random_normal([300, 300]) @ dl.random_normal([300, 300])
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        self.assertEqual((dl.tensor([1.0]) + 1).item(), 2.0)

    def test_interrupt_in_between_cancels_nothing(self):
        x = dl.random_normal([300, 300])
        for _ in range(200):  # in calls, just after them, and between
            with self.assertRaises(KeyboardInterrupt):
                threading.Timer(0.002, os.kill, (os.getpid(), signal.SIGINT)).start()
                while True:
                    x @ x
            x @ x

    def test_from_another_thread(self):
        timer = threading.Timer(0.05, self.context.cancel)
        timer.start()
        self.refused(dl.Cancelled, "", self.long)
        timer.join()
        self.assertEqual((dl.tensor([1.0]) + 1).item(), 2.0)
        self.context.cancel()
        self.refused(dl.Cancelled, "", lambda: dl.tensor([1.0]))
        self.assertEqual(dl.tensor([1.0]).item(), 1.0)

    def test_deadline(self):
        with self.context.deadline(0.05):
            self.refused(dl.DeadlineExceeded, "", self.long)
        self.assertEqual((dl.tensor([1.0]) + 1).item(), 2.0)
        with self.context.deadline(60):
            self.assertEqual((dl.tensor([1.0]) + 1).item(), 2.0)
        with self.assertRaises(ZeroDivisionError), self.context.deadline(0):
            1 / 0
        self.assertEqual((dl.tensor([1.0]) + 1).item(), 2.0)


if __name__ == "__main__":
    main()
