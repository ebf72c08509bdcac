#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's side of the benchmarks from Python; answers the lines of worker/main.c. Needs PYTHONPATH=BUILD/bindings/python.

  worker.py THREADS
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "peers"))

import dlcore as dl
import numpy
from common import Work, fill, serve


def names():
    return {"a": dl.tensor(fill(1, 1, 16)), "b": dl.tensor(fill(2, 1, 16)), "add": dl.add}


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with dl.Engine(threads=threads) as engine, engine.context(seed=8):
        serve(f"dlcore {dl.__version__} from Python", {
            "add16_python": lambda part: Work("a + b", names()),
            "add16_python_function": lambda part: Work("add(a, b)", names()),
            "mul_scalar16_python": lambda part: Work("a * 2.0", names()),
        }, numpy.asarray)


main()
