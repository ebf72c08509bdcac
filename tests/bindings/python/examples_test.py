#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The example programs: the numbers of C, to the last bit, also when a training goes on from a checkpoint."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BUILD, ROOT, main

C = BUILD / "examples/fashion_mnist/c/train"
PYTHON = [sys.executable, ROOT / "examples/fashion_mnist/python/train.py"]


class Examples(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)

    def train(self, *command):
        """(losses, saved model, lines that were printed)"""
        done = subprocess.run([*command, "--losses", "losses", "--save", "model"], cwd=self.directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return (self.directory / "losses").read_text(encoding="ascii"), (self.directory / "model").read_bytes(), done.stdout

    def accuracy(self, output):
        return re.findall(r"^accuracy \d\.\d{4}$", output, re.MULTILINE)

    @unittest.skipUnless(C.exists(), "built without examples")
    def test_numbers_are_those_of_c(self):
        losses, model, output = self.train(C, "--limit", "100")
        self.assertEqual(losses.count("\n"), 100)
        found = self.train(*PYTHON, "--limit", "100")
        self.assertEqual(found[:2], (losses, model))
        self.assertEqual(self.accuracy(found[2]), self.accuracy(output))

    def test_goes_on_from_a_checkpoint(self):
        whole, model, _ = self.train(*PYTHON, "--limit", "40", "--seed", "3")
        first, _, _ = self.train(*PYTHON, "--limit", "15", "--seed", "3", "--checkpoint", "state")
        second, again, _ = self.train(*PYTHON, "--limit", "25", "--seed", "9", "--resume", "state", "--threads", "1")
        self.assertEqual((first + second, again), (whole, model))
        if C.exists():
            self.assertEqual(self.train(C, "--limit", "25", "--resume", "state")[:2], (second, again))

    def test_wrong_options(self):
        for options in (["--nonsense"], ["--resume", "nowhere"], ["--threads", "-1"]):
            done = subprocess.run([*PYTHON, *options], cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("Traceback", done.stderr)

    def test_guide(self):
        """The code of docs/guide-python.md, from its first block to its last."""
        text = (ROOT / "docs/guide-python.md").read_text(encoding="utf-8")
        code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        done = subprocess.run([sys.executable, "-c", code], cwd=self.directory, stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("matmul: inner dimensions differ", done.stdout)

    def test_serves(self):
        command = [sys.executable, ROOT / "examples/serve/python/serve.py", "--requests", "1000", "--check"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        self.assertRegex(done.stdout, r"^1000 requests, 0 wrong, [1-9]\d* steps$")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
