#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of one op call with callgrind: a call must not get more than 5 % dearer than it was.

  tests/instructions/run.py BUILD [--update]    --update writes what was counted to expected.json

Counts do not depend on how busy the machine is, and little on the machine: callgrind shows every program the same
instruction set, AVX2 at most. They do depend on the compiler, which expected.json names.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FEW, MANY = 2000, 6000
MARGIN = 1.05


def total(program, name, count):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{name}: ended with {done.returncode}\n{done.stdout[-1500:]}")
    return int(re.search(r"Collected : (\d+)", done.stdout)[1])


def main(build, *options):
    program = Path(build, "tests/instructions/calls").resolve()
    names = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    counted = {n: round((total(program, n, MANY) - total(program, n, FEW)) / (MANY - FEW)) for n in names}
    file = HERE / "expected.json"
    if options == ("--update",):
        compiler = subprocess.run(["c++", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        content = {"compiler": compiler.splitlines()[0], "instructions": counted}
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    expected = json.loads(file.read_text(encoding="utf-8"))["instructions"]
    failed = 0
    for name, count in counted.items():
        most = expected.get(name, 0) * MARGIN
        verdict = "" if count <= most else f": more than {most:.0f}; a dearer call needs a reason and --update"
        failed += count > most
        print(f"{name}: {count} instructions, expected {expected.get(name, 'none')}{verdict}")
    print(f"{len(counted) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
