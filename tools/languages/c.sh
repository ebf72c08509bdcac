# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: C, whose examples are built with the library.

setup_c() { :; }
build_c() { build_release; }
example_c() {
  local program=$1
  if [ "$1" = fashion_mnist ]; then program=train; fi
  "$root/build/examples/$1/c/$program" "${@:2}"
}
