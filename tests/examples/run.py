#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the example programs: fashion_mnist must train, and with every number of threads print the same losses to the
last bit; serve must answer, in every language, as the model of some whole step does. (That all languages train alike is
tested by tests/identity.)"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from examples import languages_of
MIN_ACCURACY = {"mlp": 0.88, "cnn": 0.90}
SHORT_RUN = ["--limit", "300"]


def run(directory, language, *options):
    """(losses as text, what was printed)"""
    losses = Path(directory, "losses.txt")
    command = [ROOT / "examples/run", "fashion_mnist", language, "--losses", losses, *options]
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=900, check=False)
    if done.returncode:
        raise ValueError(f"ended with {done.returncode}\n{done.stdout[-2000:]}")
    return losses.read_text(encoding="ascii").split(), done.stdout


def check_accuracy(directory, model):
    losses, output = run(directory, "c", "--model", model)
    accuracy = float(re.findall(r"^accuracy ([\d.]+)$", output, re.MULTILINE)[-1])
    if accuracy < MIN_ACCURACY[model]:
        raise ValueError(f"accuracy is {accuracy}, expected at least {MIN_ACCURACY[model]}")
    return f"accuracy {accuracy} after {len(losses)} steps"


def check_losses(directory, reference, language, *options):
    losses, _ = run(directory, language, *SHORT_RUN, *options)
    if losses != reference:
        differing = [i for i, pair in enumerate(zip(losses, reference)) if pair[0] != pair[1]]
        raise ValueError(f"{len(losses)} losses, expected {len(reference)}; the first that differs is {differing[:1]}")
    return f"{len(losses)} equal losses"


def check_answers(directory, language):
    command = [ROOT / "examples/run", "serve", language, "--requests", "3000", "--check"]
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=900, check=False)
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode or not last.startswith("3000 requests, 0 wrong"):
        raise ValueError(f"ended with {done.returncode}\n{done.stdout[-2000:]}")
    return last


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        reference, _ = run(directory, "c", *SHORT_RUN)
        checks = [(f"{model} in c, whole", lambda name=model: check_accuracy(directory, name)) for model in MIN_ACCURACY]
        for threads in ("1", "2", "4"):
            checks.append((f"c, {threads} threads", lambda n=threads: check_losses(directory, reference, "c", "--threads", n)))
        few = ["--model", "cnn", "--limit", "30"]
        cnn, _ = run(directory, "c", *few)
        checks.append(("cnn in c, 1 thread", lambda: check_losses(directory, cnn, "c", *few, "--threads", "1")))
        for language in languages_of("serve"):
            checks.append((f"serve in {language}", lambda name=language: check_answers(directory, name)))
        for name, check in checks:
            try:
                print(f"ok      {name}: {check()}", flush=True)
                passed += 1
            except (ValueError, IndexError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAILED  {name}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
