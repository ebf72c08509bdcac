# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: installs what building and testing need on Debian and Ubuntu, and
# defines how to build. Does nothing quickly when all is there.

export PATH="/usr/bin:$PATH" # the distribution's python3, which has the packages below
export PYTHONDONTWRITEBYTECODE=1

packages=(
  g++ meson ninja-build pkg-config
  libhwy-dev libopenblas-dev libopenblas0-pthread zlib1g-dev libfmt-dev nlohmann-json3-dev libgtest-dev
  python3 python3-dev python3-numpy python3-jinja2 swig
  clang dataset-fashion-mnist
)

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}\n' "$@" 2>/dev/null | grep -c '^installed$')" -eq $# ]; }

# Debian splits clang's sanitizer runtime into a package of its own; Ubuntu's older releases do not.
missing_runtime() {
  local major name
  major=$(clang -dumpversion | cut -d. -f1)
  name="libclang-rt-$major-dev"
  if ! installed "$name" && apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; fi
}

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    printf 'Missing packages. Run this as root, then try again:\n  apt-get update && apt-get install -y %s\n' "$*" >&2
    return 1
  fi
  echo "Installing $*" >&2
  "${as_root[@]}" apt-get update -q >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

setup() {
  local name missing=()
  if ! command -v dpkg-query >/dev/null; then
    echo "Not Debian or Ubuntu: the packages needed are those in tools/setup.sh" >&2
    return 0
  fi
  if ! installed "${packages[@]}"; then
    for name in "${packages[@]}"; do installed "$name" || missing+=("$name"); done
    install_packages "${missing[@]}" || return 1
  fi
  name=$(missing_runtime)
  if [ -n "$name" ]; then install_packages "$name" || return 1; fi
}

# build_in DIRECTORY MESON_OPTION... : configures it once, then compiles what changed; all, or $targets.
build_in() {
  local directory=$1 log
  shift
  log=$(mktemp)
  if ! { [ -f "$directory/build.ninja" ] || meson setup "$directory" "$@"; } >"$log" 2>&1 ||
    ! ninja -C "$directory" ${targets:-} >>"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

build_release() { build_in build --buildtype=release -Doptimization=2 -Dwerror=true; }
