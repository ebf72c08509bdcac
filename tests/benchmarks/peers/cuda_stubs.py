#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the package index's torch for Linux load without CUDA: cuda_stubs.py SITE_PACKAGES

That torch is linked against some gigabytes of CUDA libraries, none of which runs on a CPU. For each one that is
missing this builds a library of a few kilobytes with the same name and symbols, whose functions answer "no device".
Kernels for the CPU, and what they call, stay as they were shipped."""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

NO_DEVICE = 100  # cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE
VENDOR = re.compile(r"lib(cu|nv|nccl|cupti)")
UNVERSIONED = re.compile(r"_*(cu[A-Z]|cuda|cublas|cudnn|cufft|cufile|cusolver|cusparse|cupti|nccl|nvrtc|nvshmem|nvml)")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], stdout=subprocess.PIPE, text=True, check=True).stdout


def needed(libraries):
    """Names of the vendor's libraries that `libraries` ask for and that are not among them."""
    names = {name for path in libraries for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path))}
    return sorted(name for name in names - {path.name for path in libraries} if VENDOR.match(name))


def wanted(libraries, missing):
    """{library: {version or "": symbols}} that have to exist for `libraries` to load."""
    symbols = defaultdict(lambda: defaultdict(set))
    for path in libraries:
        owners = {}  # a symbol version belongs to one library
        owner = None
        for line in readelf("-V", path).splitlines():
            if file := re.search(r"File: (\S+)", line):
                owner = file[1]
            elif version := re.search(r"Name: (\S+)\s+Flags", line):
                owners[version[1]] = owner
        for line in readelf("--dyn-syms", path).splitlines():
            found = re.search(r"(GLOBAL|WEAK)\s+DEFAULT\s+UND ([^\s@]+)(?:@(\S+))?", line)
            if not found:
                continue
            _, symbol, version = found.groups()
            if version and owners.get(version) in missing:
                symbols[owners[version]][version].add(symbol)
            elif not version and UNVERSIONED.match(symbol):
                symbols[missing[0]][""].add(symbol)
    return symbols


def build(target, versions):
    every = sorted(set().union(*versions.values())) if versions else []
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch, "stub.c"), Path(scratch, "stub.map")
        lines = ['static const char text[] = "no device";']
        for symbol in every:
            body = "const char *{}(void) {{ return text; }}" if "String" in symbol else "long {}(void) {{ return %d; }}" % NO_DEVICE
            lines.append(body.format(symbol))
        source.write_text("\n".join(lines) + "\n", encoding="ascii")
        nodes = [f"{name} {{ global: {'; '.join(sorted(symbols))}; }};" for name, symbols in versions.items() if name]
        script.write_text("\n".join(nodes) + "\n", encoding="ascii")
        versioned = [f"-Wl,--version-script={script}"] if nodes else []
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-fno-builtin", source, "-o", target,
                        f"-Wl,-soname,{target.name}", *versioned], check=True)


def main():
    folder = Path(sys.argv[1], "torch/lib")
    libraries = sorted(folder.glob("*.so*"))
    missing = needed(libraries)
    symbols = wanted(libraries, missing) if missing else {}
    for name in missing:
        build(folder / name, symbols.get(name, {}))
    print(f"{len(missing)} CUDA libraries replaced by stubs")


if __name__ == "__main__":
    main()
