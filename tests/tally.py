#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs and counts their tests, whatever framework they use.

  tests/tally.py COUNTS COMMAND...              a program of tests
  tests/tally.py COUNTS --suite BUILD SUITE     every program that meson knows for a suite
  tests/tally.py COUNTS --shards COMMAND...     a program of GoogleTest, its tests spread over a process per processor
  tests/tally.py COUNTS --shards --suite BUILD SUITE
  tests/tally.py COUNTS --check NAME COMMAND... a command that is one test, passed when it ends with 0

Appends a line `PASSED FAILED` for each program to the file COUNTS, and shows the output of those that fail.
Understood are GoogleTest, Python's unittest, and a last line `N passed, N failed`. A program that fails
without a failing test, or that ran no test, counts as one failure.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SHOWN = 200  # last lines of a failing program's output
TIMEOUT_S = 900


def count(output):
    """(passed, failed) as the output tells."""
    if plain := re.findall(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE):
        return int(plain[-1][0]), int(plain[-1][1])
    if unittest := re.search(r"^Ran (\d+) tests? in ", output, re.MULTILINE):
        outcomes = re.findall(r"^(?:OK|FAILED) ?(?:\((.*)\))?$", output, re.MULTILINE)
        notes = dict(re.findall(r"(\w[\w ]*)=(\d+)", outcomes[-1] if outcomes else ""))
        failed = sum(int(notes.get(key, 0)) for key in ("failures", "errors", "unexpected successes"))
        return int(unittest[1]) - failed - int(notes.get("skipped", 0)), failed
    passed = re.findall(r"^\[       OK \] ", output, re.MULTILINE)
    failed = re.findall(r"^\[  FAILED  \] .* \(\d+ ms\)$", output, re.MULTILINE)
    return len(passed), len(failed)


def run_once(command, environment, directory, is_test):
    """(passed, failed, reason)"""
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        output, code = f"{(error.stdout or b'').decode(errors='replace')}\n{error}", -1
    except OSError as error:
        output, code = str(error), -1
    passed, failed = (int(code == 0), 0) if is_test else count(output)
    reason = ""
    if code and not failed:
        failed, reason = 1, f", ended with {code}"
    elif not passed and not failed:
        failed, reason = 1, ", ran no tests"
    if failed:
        print("\n".join(output.splitlines()[-SHOWN:]))
    return passed, failed, reason


def run(name, command, environment=None, directory=None, is_test=False, shards=1):
    start = time.monotonic()
    def run_shard(index):
        part = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)} if shards > 1 else {}
        return run_once(command, {**(environment or {}), **part}, directory, is_test)

    with ThreadPoolExecutor(shards) as pool:
        results = list(pool.map(run_shard, range(shards)))
    passed = sum(result[0] for result in results)
    failed = sum(result[1] for result in results)
    reason = "".join(result[2] for result in results)
    print(f"  {name}: {passed} passed, {failed} failed{reason} ({time.monotonic() - start:.1f} s)", flush=True)
    return passed, failed


def programs(build, suite):
    """[(name, command, environment, directory)] of a meson suite."""
    text = subprocess.run(["meson", "introspect", "--tests", build], stdout=subprocess.PIPE, check=True).stdout
    return [(test["name"], test["cmd"], test["env"], test["workdir"]) for test in json.loads(text)
            if suite in (name.split(":")[-1] for name in test["suite"])]


def main():
    counts, *command = sys.argv[1:]
    shards = 1
    if command[0] == "--shards":
        shards = len(os.sched_getaffinity(0))
        command.pop(0)
    if command[0] == "--suite":
        results = [run(*program, shards=shards) for program in programs(*command[1:])]
    elif command[0] == "--check":
        results = [run(command[1], command[2:], is_test=True)]
    else:
        results = [run("/".join(Path(command[0]).parts[-2:]), command, shards=shards)]
    if not results:
        print(f"  no tests in the suite {command[2]}")
        results = [(0, 1)]
    with open(counts, "a", encoding="utf-8") as file:
        file.writelines(f"{passed} {failed}\n" for passed, failed in results)


if __name__ == "__main__":
    sys.exit(main())
