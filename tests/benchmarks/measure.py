# SPDX-License-Identifier: Apache-2.0
"""Paired samples: ours, theirs, theirs, ours... The ratio is the median of the paired ratios, low and high are its
quartiles. Of a benchmark of several parts a pair counts by the geometric mean over the parts."""

import math
import statistics
import time

from machine import BUSY, Load, thread_seconds
from sides import Failed, Missing, library_bytes, peak_bytes, program, start_seconds
from table import UNITS

# Between samples, and again while threads of the side that was measured still spin for more work. Longer than the ticks
# by which the time of a running thread is counted.
REST_S = 0.012
LANGUAGE_WARM_UP_S = 1.5
MAX_RESTS = 100
SPINNING = 0.05  # share of a sample's time that the side that waits may use
RELATIVE, ABSOLUTE = 1e-4, 1e-2  # by which checksums may differ


class Plan:
    def __init__(self, quick):
        self.pairs = 5 if quick else 11
        self.slow_pairs = 3
        self.sample_s = 0.01 if quick else 0.03
        self.disturbed = False  # a side that should have slept did not


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def turns_for(worker, name, sample_s):
    """Turns that take about sample_s; warms up on the way."""
    worker.seconds(name, 1)
    turns = 1
    while (taken := worker.seconds(name, turns)) < sample_s / 4 and turns < 1 << 30:
        turns *= 4
    return max(1, round(turns * sample_s / max(taken, 1e-9)))


def agree(ours, theirs):
    return abs(ours - theirs) <= RELATIVE * max(abs(ours), abs(theirs)) + ABSOLUTE


def rest(pids):
    """Sleeps until those processes do; returns the CPU time that they have used so far."""
    used = sum(map(thread_seconds, pids))
    for _ in range(MAX_RESTS):
        time.sleep(REST_S)
        before, used = used, sum(map(thread_seconds, pids))
        if used == before:
            break
    return used


def warm_up(worker, name, seconds):
    """Compilers at run time take a while to see what is called most."""
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        worker.seconds(name, 10_000)


def sample_part(workers, names, plan):
    """{role: [seconds of a turn]}, one for each pair; `names` says what each role runs, and on which side."""
    sides = {role: workers.get(side) for role, (side, _) in names.items()}
    names = {role: name for role, (_, name) in names.items()}
    turns = {side: turns_for(worker, names[side], plan.sample_s) for side, worker in sides.items()}
    samples = {side: [] for side in sides}
    order = list(sides)
    for _ in range(plan.pairs):
        for side in order:
            waiting = [worker.process.pid for worker in set(sides.values()) - {sides[side]}]
            before = rest(waiting)
            taken = sides[side].seconds(names[side], turns[side])
            spun = sum(map(thread_seconds, waiting)) - before
            plan.disturbed |= spun > SPINNING * taken + 0.001
            samples[side].append(taken / turns[side])
        order.reverse()
    return samples


def work(workers, benchmark, plan):
    if benchmark.peers == ("ours again",):
        ours, theirs = benchmark.parts
        return sample_part(workers, {"ours": ("ours", f"{benchmark.name}/{ours}"),
                                     "ours again": ("ours again", f"{benchmark.name}/{theirs}")}, plan)
    # The role of whoever is measured is "ours", and that of C beside another language is "C".
    peers = [("C" if peer == "ours" else peer, peer) for peer in benchmark.peers if workers.with_peers or peer == "ours"]
    parts = []
    for part in benchmark.parts:
        name = f"{benchmark.name}/{part}" if part else benchmark.runs or benchmark.name
        their_name = benchmark.peer_part or name
        value = workers.get(benchmark.side).check(name)
        for role, peer in peers:
            if not agree(value, theirs := workers.get(peer).check(their_name)):
                raise Failed(f"{name}: checksum {value:g}, {role} has {theirs:g}")
        if benchmark.side != "ours":
            warm_up(workers.get(benchmark.side), name, LANGUAGE_WARM_UP_S)
        roles = {"ours": (benchmark.side, name), **{role: (peer, their_name) for role, peer in peers}}
        parts.append(sample_part(workers, roles, plan))
    return {side: [geometric_mean(pair) for pair in zip(*(part[side] for part in parts))] for side in parts[0]}


def programs(build, workers, benchmark, plan):
    sides = ("ours", *benchmark.peers) if workers.with_peers else ("ours",)
    samples = {side: [] for side in sides}
    if benchmark.kind == "size":
        return {side: [library_bytes(build, side)] for side in sides}
    if benchmark.kind == "memory":
        for _ in range(plan.slow_pairs):
            for side in sides:
                samples[side].append(peak_bytes(program(build, benchmark.kind, side)))
        return samples
    losses = {}
    for _ in range(plan.pairs):
        for side in sides:
            taken, losses[side] = start_seconds(program(build, benchmark.kind, side))
            samples[side].append(taken)
        sides = sides[::-1]
    if not all(agree(losses["ours"], loss) for loss in losses.values()):
        raise Failed(f"losses differ: {losses}")
    return samples


def compare(samples):
    """The numbers of a row; of several peers the one with the smaller median counts."""
    medians = {side: statistics.median(values) for side, values in samples.items()}
    peer = min((side for side in samples if side != "ours"), key=medians.get, default=None)
    numbers = {"ours": medians["ours"], "peer": None, "ratio": None, "low": None, "high": None, "pairs": len(samples["ours"])}
    if peer:
        ratios = [ours / theirs for ours, theirs in zip(samples["ours"], samples[peer])]
        numbers |= {"peer": medians[peer], "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
        if len(ratios) > 1:
            numbers["low"], _, numbers["high"] = statistics.quantiles(ratios, n=4, method="inclusive")
    return peer, numbers


def row(build, workers, cpus, benchmark, plan):
    """The measured row; raises Missing or Failed."""
    plan.disturbed = False
    load = Load(cpus, workers.processes)
    try:
        samples = work(workers, benchmark, plan) if benchmark.kind == "work" else programs(build, workers, benchmark, plan)
    finally:
        workers.drop()
    others = load.others() if benchmark.kind in ("work", "start") else 0.0  # a size does not depend on load
    peer, numbers = compare(samples)
    for key in ("ours", "peer"):
        if numbers[key] is not None:
            numbers[key] /= UNITS[benchmark.unit]
    return {"name": benchmark.name, "unit": benchmark.unit, **numbers, "peer_name": "ours" if peer == "C" else peer, "bar": benchmark.bar,
            "limit": benchmark.limit, "over": benchmark.over, "others": round(others, 3), "awake": plan.disturbed,
            "busy": plan.disturbed or others > BUSY}
