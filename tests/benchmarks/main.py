#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same work on this engine and on its peers, side by side, and prints what it takes. Called by `run`, which
builds and installs first."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import measure
from machine import BUSY, Load, choose_cpus, cpu_model
from sides import HERE, PYTHON, ROOT, Failed, Missing, Workers
from table import BENCHMARKS, LANGUAGE_WORKERS, PEER_NAMES, THREADS, bar_text, verdict

COLUMNS = "{:16} {:>4} {:>9} {:>9}  {:18} {:>6} {:>15}  {:>6}  {}"


def arguments():
    parser = argparse.ArgumentParser(prog="tests/benchmarks/run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (all)")
    parser.add_argument("--list", action="store_true", help="what there is, with the bars")
    parser.add_argument("--quick", action="store_true", help="5 short pairs instead of 11")
    parser.add_argument("--ours-only", action="store_true", help="without peers: shows that every benchmark runs")
    parser.add_argument("--allow-missing", action="store_true", help="with --ours-only: what the build lacks is no failure")
    parser.add_argument("--strict", action="store_true", help="fail when a bar is missed or the machine was busy")
    parser.add_argument("--json", metavar="FILE", help="write the rows")
    parser.add_argument("--plot", metavar="FILE", help="draw the ratios (svg, png)")
    parser.add_argument("--build", metavar="DIR", type=Path, default=ROOT / "build", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = {benchmark.name for benchmark in BENCHMARKS}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no benchmark '{unknown[0]}'; see --list")
    return options


def listing():
    for benchmark in BENCHMARKS:
        bar = bar_text(vars(benchmark))
        peers = " or ".join(PEER_NAMES[peer] for peer in benchmark.peers)
        print(f"{benchmark.name:16} {bar:>7}  {peers:18} {benchmark.what}")


def idle_load(cpus, workers):
    load = Load(cpus, workers.processes)
    time.sleep(1)
    return load.others()


def number(value):
    return "" if value is None else f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def show(row):
    spread = f"({row['low']:.2f}-{row['high']:.2f})" if row["ratio"] is not None else ""
    ratio = f"{row['ratio']:.2f}" if row["ratio"] is not None else ""
    print(COLUMNS.format(row["name"], row["unit"], number(row["ours"]), number(row["peer"]), row["peer_name"] or "", ratio,
                         spread, bar_text(row), row["verdict"]), flush=True)


def run(options, cpus, workers):
    """(rows, names of what is missing, names of what failed)"""
    rows, missing, failed = [], [], []
    chosen = [benchmark for benchmark in BENCHMARKS if not options.names or benchmark.name in options.names]
    plan = measure.Plan(options.quick)
    print(COLUMNS.format("", "unit", "ours", "peer", "", "ratio", "(quartiles)", "bar", ""))
    for benchmark in chosen:
        try:
            row = measure.row(options.build, workers, cpus, benchmark, plan)
        except Missing as error:
            missing.append(benchmark.name)
            print(f"{benchmark.name:16} not available: {error}", flush=True)
            continue
        except Failed as error:
            failed.append(benchmark.name)
            print(f"{benchmark.name:16} FAILED: {error}", flush=True)
            continue
        row["verdict"] = verdict(row) if workers.with_peers else ""
        row["peer_name"] = PEER_NAMES.get(row["peer_name"])
        rows.append(row)
        show(row)
    return rows, missing, failed


def describe_machine(cpus, workers):
    ours = workers.get("ours").about
    return {"cpu": cpu_model(), "cpus": len(cpus), "threads": ours["threads"], "isa": ours["isa"], "version": ours["version"]}


def plot(rows_file, target):
    done = subprocess.run([PYTHON, HERE / "plot.py", rows_file, target], check=False)
    if done.returncode:
        print(f"no plot: {PYTHON} could not draw it")


def finish(options, rows, missing, failed, machine, workers):
    machine["peers"] = sorted(worker.about["version"] for name, worker in workers.running.items()
                              if "ours" not in name and name not in LANGUAGE_WORKERS)
    machine["date"] = time.strftime("%Y-%m-%d")
    machine["quick"] = options.quick
    for row in rows:
        row["machine"] = machine
    if workers.with_peers:
        print(f"\npeers: {', '.join(machine['peers'])}")
    if options.json or options.plot:
        target = Path(options.json or ROOT / ".cache/benchmarks.json")
        target.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        if options.plot and rows:
            plot(target, options.plot)
    if not workers.with_peers:
        allowed = 0 if options.allow_missing else len(missing)
        print(f"{len(rows)} passed, {len(failed) + allowed} failed")
        return 1 if failed or allowed else 0
    counts = {kind: [row["name"] for row in rows if row["verdict"] == kind] for kind in ("met", "missed", "busy")}
    print(f"{len(counts['met'])} bars met, {len(counts['missed'])} missed, {len(missing)} not available, {len(failed)} failed")
    if counts["busy"]:
        print(f"The machine was busy (others took more than {BUSY:.0%} of its time): nothing is claimed of "
              f"{', '.join(counts['busy'])}")
    return 1 if failed or options.strict and (missing or counts["missed"] or counts["busy"]) else 0


def main():
    options = arguments()
    if options.list:
        listing()
        return 0
    cpus = choose_cpus(THREADS)
    os.sched_setaffinity(0, cpus)  # and that of all that is started from here
    workers = Workers(options.build, with_peers=not options.ours_only)
    try:
        machine = describe_machine(cpus, workers)
        print(f"{machine['cpu']}, {machine['cpus']} CPUs used, {machine['isa']}, {machine['version']}")
        if workers.with_peers and (load := idle_load(cpus, workers)) > BUSY:
            print(f"The machine is busy: others take {load:.0%} of its time")
        return finish(options, *run(options, cpus, workers), machine, workers)
    finally:
        workers.close()


if __name__ == "__main__":
    sys.exit(main())
