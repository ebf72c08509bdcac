#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same training in every language: the losses of each step and the weights at the end have the bits of C's, and a
checkpoint that one language wrote is gone on from in every other, as if nothing had happened.

Needs examples that are built: those of C and of each language that is given (all, without arguments).
"""

import hashlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from examples import languages_of

HALF = 20  # steps before a checkpoint, and after it
THREADS = {"c": "1"}  # the others use all there are


def shell(*arguments, directory=ROOT):
    """What a function of tools/languages prints."""
    done = subprocess.run([ROOT / "tools/in_language", *arguments], cwd=directory, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(map(str, arguments))}: ended with {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def train(directory, language, name, steps, *options):
    """(the loss of each step, SHA-256 of the weights)"""
    losses, weights = Path(directory, f"{name}.losses"), Path(directory, f"{name}.safetensors")
    shell(f"example_{language}", "fashion_mnist", "--limit", str(steps), "--losses", losses, "--save", weights,
          "--threads", THREADS.get(language, "0"), *options, directory=directory)
    return losses.read_text(encoding="ascii").split(), hashlib.sha256(weights.read_bytes()).hexdigest()


def require_equal(found, expected):
    losses, weights = found
    if losses != expected[0]:
        first = next((i for i, (a, b) in enumerate(zip(losses, expected[0])) if a != b), len(losses))
        raise ValueError(f"{len(losses)} losses, expected {len(expected[0])}; the first that differs is {first}: "
                         f"{losses[first:first + 1]}, expected {expected[0][first:first + 1]}")
    if weights != expected[1]:
        raise ValueError(f"the weights' SHA-256 is {weights}, expected {expected[1]}")
    return f"{len(losses)} losses, weights {weights[:16]}"


class Run:
    def __init__(self, directory, languages):
        self.directory, self.languages = directory, languages
        self.passed = self.failed = 0
        self.whole = train(directory, "c", "reference", 2 * HALF)

    def check(self, name, function, *arguments):
        start = time.monotonic()
        try:
            print(f"ok      {name}: {function(*arguments)} ({time.monotonic() - start:.1f} s)", flush=True)
            self.passed += 1
        except (ValueError, OSError, subprocess.TimeoutExpired) as error:
            print(f"FAILED  {name}: {error}", flush=True)
            self.failed += 1

    def alone(self, language):
        return require_equal(train(self.directory, language, language, 2 * HALF), self.whole)

    def first_half(self, language):
        losses, _ = train(self.directory, language, f"{language}-half", HALF, "--checkpoint", self.state(language))
        if losses != self.whole[0][:HALF]:
            raise ValueError("the losses before the checkpoint differ")
        return f"{self.state(language).stat().st_size} bytes"

    def second_half(self, writer, reader):
        found = train(self.directory, reader, f"{writer}-{reader}", HALF, "--resume", self.state(writer))
        return require_equal(found, (self.whole[0][HALF:], self.whole[1]))

    def state(self, language):
        return Path(self.directory, f"{language}.checkpoint")

    def all(self):
        for language in self.languages:
            self.check(language, self.alone, language)
            self.check(f"{language} writes a checkpoint", self.first_half, language)
        for writer in self.languages:
            for reader in self.languages:
                self.check(f"{reader} goes on from {writer}", self.second_half, writer, reader)
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def main():
    languages = sys.argv[1:] or languages_of("fashion_mnist")
    for language in languages:
        shell(f"setup_{language}")
        shell(f"build_{language}")
    with tempfile.TemporaryDirectory() as directory:
        return Run(directory, languages).all()


if __name__ == "__main__":
    sys.exit(main())
