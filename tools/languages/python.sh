# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: Python, whose package is built with the library.

setup_python() { :; }
build_python() { build_release; }
suite_python() { tally --suite build python; }
example_python() {
  local program=$1
  if [ "$1" = fashion_mnist ]; then program=train; fi
  PYTHONPATH="$root/build/bindings/python" python3 "$root/examples/$1/python/$program.py" "${@:2}"
}
