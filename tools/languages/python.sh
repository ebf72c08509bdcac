# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: Python, whose package is built with the library.

setup_python() { :; }
build_python() { build_release; }

# Types are checked where mypy can be had; DLCORE_WHEEL=1 also installs the package with pip, which compiles the library
# once more.
suite_python() {
  local mypy=.cache/python/mypy fresh="$scratch/python-wheel"
  tally --suite build python
  if python_environment "$mypy" mypy; then
    PYTHONPATH=build/bindings/python tally "$mypy/bin/python" tests/bindings/python/types_test.py
  else
    echo "  types: left out, mypy is not to be had"
  fi
  if [ -n "${DLCORE_WHEEL:-}" ]; then
    python3 -m venv "$fresh"
    tally --check "pip install ." "$fresh/bin/pip" install -q .
    tally --check "the installed package" "$fresh/bin/python" tests/bindings/python/installed.py
  fi
}

# python_environment DIRECTORY PACKAGE... : a virtual environment with packages of PyPI beside the system's.
python_environment() {
  local directory=$1
  shift
  if [ -f "$directory/complete" ]; then return; fi
  { python3 -m venv --system-site-packages "$directory" && "$directory/bin/pip" install -q "$@"; } >/dev/null 2>&1 || return 1
  touch "$directory/complete"
}

example_python() {
  local program=$1
  if [ "$1" = fashion_mnist ]; then program=train; fi
  PYTHONPATH="$root/build/bindings/python" python3 "$root/examples/$1/python/$program.py" "${@:2}"
}
soak_python() { PYTHONPATH="$root/build/bindings/python:$root/tests/bindings/python" python3 "$root/tests/bindings/python/soak_test.py" "$1"; }
worker_python() { PYTHONPATH="$root/build/bindings/python" exec python3 "$root/tests/benchmarks/worker/python/worker.py" "$@"; }
