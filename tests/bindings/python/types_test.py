#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The package and a user's program in the eyes of mypy, which the interpreter that runs this must have."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT, main

PROGRAM = Path(__file__).with_name("typed_program.py")


def mypy(*arguments):
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", cache, *arguments]
        return subprocess.run(command, cwd=ROOT, env={"MYPYPATH": str(ROOT / "bindings/python"), "PATH": "/usr/bin:/bin"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


class Types(unittest.TestCase):
    def test_package(self):
        done = mypy()
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_program(self):
        """All errors that its comments announce, and no others."""
        lines = PROGRAM.read_text(encoding="utf-8").splitlines()
        expected = {number: line.partition("# error: ")[2] for number, line in enumerate(lines, 1) if "# error: " in line}
        done = mypy(PROGRAM)
        found = {int(number): text for number, text in
                 re.findall(r"typed_program\.py:(\d+): error: (.*)", done.stdout)}
        self.assertEqual(set(found), set(expected), done.stdout)
        for number, text in expected.items():
            self.assertIn(text, found[number])


if __name__ == "__main__":
    main()
