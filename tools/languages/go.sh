# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: Go, whose toolchain a fresh machine takes from the module proxy.

go_minimum=1.24
go_release=1.24.4 # what is fetched where there is none, or an older one
go_output=build-go

# A toolchain that is new enough: that of the machine, or the one below .cache.
go_path() {
  local candidate version
  for candidate in "$(command -v go)" /usr/local/go/bin/go "$root/.cache/go-$go_release/bin/go"; do
    [ -x "$candidate" ] || continue
    version=$(GOTOOLCHAIN=local "$candidate" env GOVERSION 2>/dev/null) || continue
    if [ "$(printf '%s\n' "go$go_minimum" "$version" | sort -V | head -n 1)" = "go$go_minimum" ]; then
      dirname "$candidate"
      return
    fi
  done
  return 1
}

setup_go() {
  local proxy=${GOPROXY:-https://proxy.golang.org} machine archive target="$root/.cache/go-$go_release"
  go_path >/dev/null && return
  proxy=${proxy%%[,|]*}
  case $proxy in http*) ;; *) proxy=https://proxy.golang.org ;; esac
  case $(uname -m) in
    x86_64) machine=amd64 ;;
    aarch64) machine=arm64 ;;
    *) echo "There is no Go toolchain to fetch for $(uname -m); install Go $go_minimum or later" >&2 && return 1 ;;
  esac
  echo "Fetching Go $go_release" >&2
  mkdir -p "$root/.cache"
  archive=$(mktemp -d "$root/.cache/go.XXXXXX") || return 1
  go_fetch "${proxy%/}/golang.org/toolchain/@v/v0.0.1-go$go_release.linux-$machine.zip" "$archive" || return 1
  rm -rf "$target" && mv "$archive/go" "$target" && rm -rf "$archive"
  go_path >/dev/null # it runs
}

# Unpacks a toolchain into DIRECTORY/go. Python is there in any case; the archive has no marks of what is executable.
go_fetch() {
  python3 - "$1" "$2" <<'EOF'
import io, os, sys, urllib.request, zipfile
from pathlib import Path

with urllib.request.urlopen(sys.argv[1], timeout=300) as answer:
    archive = zipfile.ZipFile(io.BytesIO(answer.read()))
for name in archive.namelist():
    inside = name.partition("@")[2].partition("/")[2]
    if not inside or name.endswith("/"):
        continue
    target = Path(sys.argv[2], "go", inside)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(archive.read(name))
    if inside.startswith(("bin/", "pkg/tool/")):
        os.chmod(target, 0o755)
EOF
}

# In a subshell with the toolchain and the library of this tree. `go_in DIRECTORY COMMAND...`
go_in() (
  path=$(go_path) || return 1
  # Go's linker does not know a compiler behind a launcher, such as `ccache gcc`.
  if [ -n "${CC:-}" ]; then export CC="${CC##* }"; fi
  export PATH="$path:$PATH" GOTOOLCHAIN=local GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=1
  export PKG_CONFIG_PATH="$root/build/meson-uninstalled${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  export CGO_CFLAGS="-O2 -g -I$root/capi/include" CGO_LDFLAGS="-Wl,-rpath,$root/build/capi"
  cd "$root/$1" && "${@:2}"
)

build_go() {
  local example output="$root/$go_output"
  build_release || return 1
  mkdir -p "$output"
  for example in examples/*/go; do
    go_in "$example" go build -o "$output/$(basename "$(dirname "$example")")" . || return 1
  done
  go_in tests/benchmarks/worker/go go build -o "$output/benchmark_worker" .
}

build_go_tests() {
  local output="$root/$go_output"
  go_guide "$output/guide" &&
    go_in "$go_output/guide" go build -o "$output/circle" . &&
    go_in tests/conformance/go go build -o "$output/conformance" . &&
    go_in bindings/go go test -c -o "$output/examples.test" . &&
    go_in tests/bindings/go go test -c -o "$output/bindings.test" . &&
    go_in tests/bindings/go go test -race -c -o "$output/bindings_race.test" .
}

# The program of docs/guide-go.md, in a module as the guide makes it.
go_guide() {
  mkdir -p "$1"
  awk '/^```/ { inside = 0 } inside; /^```go/ { inside = !seen++ }' docs/guide-go.md >"$1/main.go"
  printf 'module circle\n\ngo %s\n\nrequire dlcore v0.0.0\n\nreplace dlcore => %s/bindings/go\n' $go_minimum "$root" >"$1/go.mod"
}

suite_go() {
  local module output="$root/$go_output"
  build_go_tests || return 1
  for module in bindings/go tests/bindings/go tests/conformance/go tests/benchmarks/worker/go examples/*/go; do
    tally --check "$module is formatted and vetted" tests/bindings/go/nothing "$(
      go_in "$module" gofmt -d . 2>&1
      go_in "$module" go vet ./... 2>&1 || echo "go vet failed"
    )"
  done
  tally tests/bindings/go/run "$output/bindings.test" "$output/examples.test"
  tally tests/bindings/go/run "-test.skip=^TestSoak$" "$output/bindings_race.test"
  tally "$output/conformance"
  tally --check "the program of the guide trains" env --chdir="$scratch" "$output/circle"
  tally --check "serving beside training" "$output/serve" --check --requests 2000
}

example_go() { "$root/$go_output/$1" "${@:2}"; }
soak_go() { build_go_tests && "$root/$go_output/bindings.test" -test.run '^TestSoak$' -soak "$1"; }
worker_go() { exec "$root/$go_output/benchmark_worker" "$@"; }
