# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run, after setup.sh: what each language needs. For every LANGUAGE there is
# languages/LANGUAGE.sh with the functions
#   setup_LANGUAGE                    installs its tools on a fresh machine; quick when they are there
#   build_LANGUAGE                    builds its package, tests and examples, after the library
#   suite_LANGUAGE                    runs its tests, with tests/run's tally
#   example_LANGUAGE NAME ARGUMENT... runs an example that is built
#   soak_LANGUAGE CALLS FAILING       so many calls, and so many that fail, after which nothing is left
#   worker_LANGUAGE THREADS           the language's side of the benchmarks of calls

languages=()
for file in "$root"/tools/languages/*.sh; do
  source "$file"
  file=${file##*/}
  languages+=("${file%.sh}")
done
unset file
