#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the measured section of docs/performance.md: document.py ROWS.json [--check]. With --check it only says
whether the section is one that this program wrote, with a row for each benchmark of the table."""

import json
import re
import sys

from sides import ROOT
from table import BENCHMARKS, bar_text

PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- measured: written by tests/benchmarks/document.py -->", "<!-- end of measured -->"
HEADER = "| Benchmark | Ours | Peer | Ratio (quartiles) | Bar | |\n|---|---|---|---|---|---|\n"


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def line(benchmark, row):
    if row is None:
        return f"| `{benchmark.name}` | not available | | | | |"
    bar = bar_text(row).replace("us", "µs")
    if row["verdict"] == "busy":
        return f"| `{row['name']}` | | | | {bar} | not measured, machine busy |"
    unit = row["unit"].replace("us", "µs")
    peer = ratio = ""
    if row["peer"] is not None:
        peer = f"{number(row['peer'])} {unit}, {row['peer_name']}"
        ratio = f"**{row['ratio']:.2g}** ({row['low']:.2g}–{row['high']:.2g})"
    return f"| `{row['name']}` | {number(row['ours'])} {unit} | {peer} | {ratio} | {bar} | {row['verdict']} |"


def section(rows):
    machine = rows[0]["machine"]
    by_name = {row["name"]: row for row in rows}
    pairs = max(row["pairs"] for row in rows)
    text = [f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['isa']}; {machine['version']}; "
            f"{', '.join(machine['peers'])}; {machine['date']}; {pairs} pairs{', quick' if machine['quick'] else ''}.", ""]
    text.append(HEADER + "\n".join(line(benchmark, by_name.get(benchmark.name)) for benchmark in BENCHMARKS))
    return "\n".join(text)


def check(page):
    measured = page.partition(BEGIN)[2].partition(END)[0]
    missing = [b.name for b in BENCHMARKS if f"| `{b.name}` |" not in measured]
    if missing:
        print(f"docs/performance.md has no row for {', '.join(missing)}: run tests/benchmarks/document.py")
    return 1 if missing else 0


def main():
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return check(page)
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    written, count = re.subn(pattern, lambda _: f"{BEGIN}\n{section(rows)}\n{END}", page, flags=re.DOTALL)
    if count != 1:
        print(f"{PAGE} has {count} sections to write, expected 1")
        return 1
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
