# SPDX-License-Identifier: Apache-2.0
"""The machine: which CPUs to measure on, what they are, and who else uses them."""

import os
import platform
import re
import time
from pathlib import Path

BUSY = 0.05  # share of the CPUs' time that others may take before nothing is claimed
TICK = os.sysconf("SC_CLK_TCK")


def choose_cpus(count):
    """That many of the CPUs that this process may use, on cores of their own as far as there are."""
    allowed = sorted(os.sched_getaffinity(0))
    cores, chosen = set(), []
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        core = siblings.read_text(encoding="ascii").strip() if siblings.exists() else str(cpu)
        if core not in cores:
            cores.add(core)
            chosen.append(cpu)
    chosen += [cpu for cpu in allowed if cpu not in chosen]
    return sorted(chosen[:count])


def cpu_model():
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.exists() else ""
    if found := re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE):
        return found[1]
    return platform.processor() or platform.machine()


def used_seconds(cpus):
    """CPU time that anyone, also another machine on the same host, has taken of `cpus`."""
    total = 0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *fields = line.split()
        if re.fullmatch(r"cpu\d+", name) and int(name[3:]) in cpus:
            user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
            total += user + nice + system + irq + softirq + steal
    return total / TICK


def process_seconds(pid):
    """CPU time of a process, all threads, also those that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


def thread_seconds(pid):
    """CPU time of the threads that a process has, in nanoseconds' precision."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(path.read_text(encoding="ascii").split()[0])
        except OSError:
            pass  # it has ended
    return total / 1e9


class Load:
    """Share of the CPUs' time that processes other than ours took since it was made."""

    def __init__(self, cpus, processes):
        self.cpus, self.processes = cpus, processes
        self.start = time.monotonic()
        self.used, self.own = used_seconds(cpus), self.own_seconds()

    def own_seconds(self):
        ended = os.times()
        return sum(map(process_seconds, self.processes())) + sum(ended[:4])

    def others(self):
        capacity = (time.monotonic() - self.start) * len(self.cpus)
        used = used_seconds(self.cpus) - self.used - (self.own_seconds() - self.own)
        return min(1.0, max(0.0, used - 2 / TICK) / capacity)  # a tick is lost at either end
