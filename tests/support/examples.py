# SPDX-License-Identifier: Apache-2.0
"""The examples that there are."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def languages_of(example):
    listed = subprocess.run([ROOT / "examples/run", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split()[1] for line in listed.splitlines() if line.startswith(f"{example} ")]
