# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: C, whose examples are built with the library.

setup_c() { :; }
build_c() { build_release; }
example_c() { "$root/build/examples/$1/c/train" "${@:2}"; }
