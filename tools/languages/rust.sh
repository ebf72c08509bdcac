# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: Rust, by Debian's compiler or a newer one. Nothing is fetched, since the crates
# depend on each other only. What cargo builds lies in build-rust.

rust_packages=(cargo rustc rust-clippy rustfmt)

setup_rust() {
  if ! command -v cargo >/dev/null; then install_packages "${rust_packages[@]}"; fi
}

# cargo, with the library that lies in build/.
rust_cargo() {
  (cd "$root/bindings/rust" && DLCORE_LIB_DIR="$root/build/capi" LD_LIBRARY_PATH="$root/build/capi" \
    CARGO_TARGET_DIR="$root/build-rust" cargo "$1" --offline --quiet "${@:2}")
}

# A program that cargo built.
rust_program() { LD_LIBRARY_PATH="$root/build/capi" "$root/build-rust/release/$1" "${@:2}"; }

build_rust() { rust_cargo build --release --workspace; }

# Debian packs the formatter and the linter apart from the compiler.
rust_has() { cargo "$1" --version >/dev/null 2>&1 || { echo "  left out: cargo $1 is not installed"; false; }; }

suite_rust() {
  local run="root=$root; source tools/languages/rust.sh"
  if rust_has fmt; then tally --check "formatted" bash -c "cd bindings/rust && cargo fmt --all --check"; fi
  if rust_has clippy; then
    tally --check "clippy" bash -c "$run; rust_cargo clippy --workspace --all-targets -- -D warnings"
  fi
  tally --check "documentation" bash -c "$run; RUSTDOCFLAGS='-D warnings' rust_cargo doc --no-deps -p dlcore-sys -p dlcore"
  tally tests/bindings/rust/run
  LD_LIBRARY_PATH="$root/build/capi" tally build-rust/release/dlcore-conformance
  tally --check "serving beside training" bash -c "$run; rust_program serve --check"
}

example_rust() { rust_program "$@"; }
soak_rust() { rust_program soak "$1"; }
worker_rust() { rust_program add16 "$@"; }
