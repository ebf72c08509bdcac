#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance cases (../README.md) through the generated functions of the Python binding.

  driver.py [--filter TEXT] [--verbose]
"""

import argparse
import json
import sys
from pathlib import Path

import checks
import dlcore as dl
from comparison import Failure, Family
from dlcore import _dlcore as raw
from session import Session

CASES = Path(__file__).resolve().parents[1] / "cases"


def run(session, family, case):
    for check in checks.of(case):
        try:
            dl.manual_seed(42)
            check(session, family, case)
        except (Failure, dl.Error, TypeError, ValueError, OverflowError) as failure:
            return f"{check.__name__}: {failure!r}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="", help="only cases whose name holds it")
    parser.add_argument("--verbose", action="store_true", help="name each case")
    options = parser.parse_args()
    catalogue = json.loads(raw.dlcore_catalogue_json()[0])
    schemas = {op["name"]: op for op in catalogue["ops"]}
    passed = failed = 0
    with dl.Engine() as engine, engine.context(seed=42) as context:
        session, covered = Session(context, schemas), set()
        for path in sorted(CASES.glob("*.json")):
            family = Family(path)
            for case in family.cases:
                if options.filter not in case["name"]:
                    continue
                if options.verbose:
                    print(case["name"], flush=True)
                covered.add(case["op"])
                if text := run(session, family, case):
                    failed += 1
                    print(f"FAILED {case['name']}: {text}", flush=True)
                else:
                    passed += 1
    if not options.filter:
        for name in sorted({op["name"] for op in catalogue["ops"] if not op["hidden"]} - covered):
            failed += 1
            print(f"FAILED coverage/{name}: no case")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
