# SPDX-License-Identifier: Apache-2.0
"""Those that are compared: warm workers that answer lines (worker/main.c has the protocol), and programs that are
measured from start to end."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from table import LANGUAGE_WORKERS, THREADS

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/benchmarks"
ENVIRONMENT = ROOT / ".cache/benchmarks"
PYTHON = ENVIRONMENT / "bin/python"
TRAINING_STEPS = "500"


class Missing(Exception):
    """This build, or this environment, cannot do it."""


class Failed(Exception):
    pass


class Worker:
    """A process that waits for lines, asleep."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        line = self.process.stdout.readline()
        if not line:
            raise Missing(f"{Path(command[-2]).name} does not start")
        self.about = json.loads(line)

    def ask(self, *words):
        try:
            print(*words, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        kind, _, rest = line.strip().partition(" ")
        if kind == "missing":
            raise Missing(f"this build has no {rest}")
        if kind not in ("seconds", "value", "dropped"):
            raise Failed(rest or "the worker ended")
        return float(rest) if rest else None

    def seconds(self, name, turns):
        return self.ask("run", name, turns)

    def check(self, name):
        return self.ask("check", name)

    def drop(self):
        self.ask("drop")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Workers:
    """Ours and the peers', each started when first asked for."""

    def __init__(self, build, with_peers):
        self.build, self.with_peers = build, with_peers
        self.running, self.absent = {}, {}

    def get(self, name):
        if name in self.absent:
            raise Missing(self.absent[name])
        if name not in self.running:
            try:
                self.running[name] = Worker(self.command(name))
            except (Missing, OSError) as error:
                self.absent[name] = str(error)
                raise Missing(str(error)) from error
        return self.running[name]

    def command(self, name):
        if name in ("ours", "ours again"):
            return [self.build / "tests/benchmarks/benchmark_worker", str(THREADS)]
        if name in LANGUAGE_WORKERS:
            return [ROOT / "tools/in_language", *LANGUAGE_WORKERS[name].split(), str(THREADS)]
        if not self.with_peers:
            raise Missing("no peers")
        return [PYTHON, HERE / f"peers/peer_{name}.py", str(THREADS)]

    def processes(self):
        return [worker.process.pid for worker in self.running.values()]

    def drop(self):
        for name, worker in list(self.running.items()):
            try:
                worker.drop()
            except Failed:
                self.running.pop(name).process.kill()

    def close(self):
        for worker in self.running.values():
            worker.close()


def program(build, kind, side):
    """The command of a program of that kind."""
    if side == "ours":
        path = {"start": "tests/benchmarks/first_step", "memory": "examples/fashion_mnist/c/train"}[kind]
        return [build / path] if kind == "start" else [build / path, "--limit", TRAINING_STEPS, "--threads", str(THREADS)]
    path = HERE / "peers" / {"start": "first_step_torch.py", "memory": "train_torch.py"}[kind]
    return [PYTHON, path] if kind == "start" else [PYTHON, path, TRAINING_STEPS]


def start_seconds(command):
    """Seconds until the program says that a training step is done."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        taken = time.perf_counter() - start
        _, errors = process.communicate()
    if not line.startswith("step ") or process.returncode:
        raise Failed(errors[-500:] or line)
    return taken, float(line.split()[1])


def peak_bytes(command):
    """Highest resident memory of the program. A child starts from a copy of this process, which is smaller."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=directory, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode:
            raise Failed(output.read()[-500:].decode(errors="replace"))
    return usage.ru_maxrss * 1024


def library_bytes(build, side):
    if side != "ours":
        found = list(ENVIRONMENT.glob("lib/python*/site-packages/torch/lib/libtorch_cpu.so"))
        if not found:
            raise Missing("no peers")
        return found[0].stat().st_size
    with tempfile.TemporaryDirectory() as directory:
        stripped = Path(directory, "lib.so")
        subprocess.run(["strip", "-s", "-o", stripped, build / "capi/libdlcore.so.1"], check=True)
        return stripped.stat().st_size
