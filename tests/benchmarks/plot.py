# SPDX-License-Identifier: Apache-2.0
"""Draws the ratios of a run with their spread and their bars: plot.py ROWS.json TARGET.svg

What was measured on a busy machine is left out."""

import json
import sys

import matplotlib

matplotlib.use("agg")
matplotlib.rcParams |= {"svg.hashsalt": "dlcore", "svg.fonttype": "none", "font.size": 9}
from matplotlib import pyplot

MET, MISSED = "#2a7f62", "#c0392b"


def color(row):
    return MISSED if row["verdict"] == "missed" else MET


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [row for row in json.load(file) if row["ratio"] is not None and row["verdict"] != "busy"]
    figure, axes = pyplot.subplots(figsize=(8, 0.28 * len(rows) + 1.2), layout="constrained")
    for y, row in enumerate(rows):
        axes.plot([row["low"], row["high"]], [y, y], color=color(row), linewidth=3, solid_capstyle="butt", alpha=0.45)
        axes.plot(row["ratio"], y, "o", color=color(row), markersize=5)
        if row["bar"] is not None:
            axes.plot([row["bar"]] * 2, [y - 0.38, y + 0.38], color="black", linewidth=1.2)
        axes.annotate(f"{row['ratio']:.2g}", (row["high"], y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.axvline(1, color="#bbbbbb", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [f"{row['name']}  /  {row['peer_name']}" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * 1.6)
    axes.set_xlabel("ours / peer, lower is better; dot: median of paired ratios, line: quartiles, black: bar")
    handles = [pyplot.Line2D([], [], marker="o", linestyle="", color=c, label=text)
               for c, text in ((MET, "bar met"), (MISSED, "missed"))]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(sys.argv[2], metadata={"Date": None} if sys.argv[2].endswith(".svg") else None)


if __name__ == "__main__":
    main()
