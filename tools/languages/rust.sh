# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: Rust, by Debian's compiler or a newer one. Nothing is fetched: the crates have
# no dependencies.

rust_packages=(cargo rustc rust-clippy rustfmt)

setup_rust() {
  if ! command -v cargo >/dev/null; then
    installed "${rust_packages[@]}" || install_packages "${rust_packages[@]}" || return 1
  fi
}

# cargo with the library that lies in build/.
rust_cargo() {
  (cd "$root/bindings/rust" && DLCORE_LIB_DIR="$root/build/capi" LD_LIBRARY_PATH="$root/build/capi" \
    CARGO_TARGET_DIR="$root/build-rust" cargo "$1" --offline --quiet "${@:2}")
}

build_rust() { rust_cargo build --release --workspace; }

suite_rust() {
  build_rust
  tally --check "rustfmt" env --chdir="$root/bindings/rust" cargo fmt --all --check
  tally --check "clippy" rust_run clippy --release --workspace --all-targets -- -D warnings
  tally --check "documentation" env RUSTDOCFLAGS="-D warnings" bash -c "$(declare -f rust_cargo); root=$root; rust_cargo doc --no-deps -p dlcore-sys -p dlcore"
}

example_rust() {
  LD_LIBRARY_PATH="$root/build/capi" "$root/build-rust/release/$1" "${@:2}"
}
