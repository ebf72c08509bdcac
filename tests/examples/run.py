#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example programs: each must train, and print the losses of the C program to the last bit."""

import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "c"
MIN_ACCURACY = 0.84  # three epochs reach about 0.87


def outcome(example, language):
    """(losses as the bits of floats, accuracy)"""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([ROOT / "examples/run", example, language], cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=900, check=False)
    losses = re.findall(r"^(\d+) ([\d.e+-]+)$", done.stdout, re.MULTILINE)
    accuracy = re.findall(r"^accuracy ([\d.]+)$", done.stdout, re.MULTILINE)
    if done.returncode or not losses or not accuracy:
        raise ValueError(f"ended with {done.returncode}\n{done.stdout[-2000:]}")
    return [struct.pack("<f", float(loss)).hex() for _, loss in losses], float(accuracy[-1])


def main():
    listed = subprocess.run([ROOT / "examples/run", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    examples = sorted((line.split()[:2] for line in listed.splitlines()), key=lambda item: item[1] != REFERENCE)
    passed = failed = 0
    reference = {}
    for example, language in examples:
        try:
            losses, accuracy = outcome(example, language)
            if losses != reference.setdefault(example, losses):
                raise ValueError(f"losses are {losses}, expected {reference[example]} as in {REFERENCE}")
            if accuracy < MIN_ACCURACY:
                raise ValueError(f"accuracy is {accuracy}, expected at least {MIN_ACCURACY}")
            passed += 1
            print(f"ok      {example} {language}: accuracy {accuracy}")
        except (ValueError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED  {example} {language}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
