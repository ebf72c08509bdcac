# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: C#, compiled by Mono's mcs, for Mono and for the CoreCLR that PyPI's package
# dotnetcore2 ships. What is built lies in .cache/csharp/mono and .cache/csharp/coreclr, a launcher beside each program.

csharp_packages=(mono-mcs mono-runtime libmono-system-core4.0-cil python3-pip)
csharp_runtime_version=3.1.23
csharp_dotnet=$root/.cache/dotnet/dotnetcore2/bin
csharp_framework=$csharp_dotnet/shared/Microsoft.NETCore.App/$csharp_runtime_version
csharp_output=$root/.cache/csharp

setup_csharp() {
  local name missing=() download
  for name in "${csharp_packages[@]}"; do installed "$name" || missing+=("$name"); done
  if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}" || return 1; fi
  [ ! -d "$csharp_framework" ] || return 0
  download=$(mktemp -d)
  echo "Fetching dotnetcore2 $csharp_runtime_version" >&2
  python3 -m pip download -q --no-deps --disable-pip-version-check --only-binary :all: -d "$download" \
    "dotnetcore2==$csharp_runtime_version" >&2 &&
    rm -rf "$root/.cache/dotnet" &&
    python3 -m zipfile -e "$download"/*.whl "$root/.cache/dotnet" &&
    chmod +x "$csharp_dotnet/dotnet"
  name=$?
  rm -rf "$download"
  return $name
}

# csharp_compile RUNTIME NAME MCS_ARGUMENT... : compiles for Mono or CoreCLR, and writes a launcher for programs.
csharp_compile() {
  local runtime=$1 name=$2 references=() file directory=$csharp_output/$1
  mkdir -p "$directory"
  if [ "$runtime" = coreclr ]; then
    references=(-nostdlib -noconfig)
    for file in System.Private.CoreLib System.Collections System.Collections.Concurrent System.Console \
      System.Diagnostics.Process System.Diagnostics.StackTrace System.IO.FileSystem System.Linq System.Memory \
      System.ComponentModel.Primitives System.Runtime System.Runtime.Extensions System.Runtime.InteropServices \
      System.Text.RegularExpressions System.Threading System.Threading.Thread; do
      references+=("-r:$csharp_framework/$file.dll")
    done
  fi
  # 1702: assemblies of CoreCLR that name each other by older versions. 1685: types that several of them hold.
  mcs -unsafe -langversion:7.2 -optimize+ -debug -warnaserror -nowarn:1685,1702 "${references[@]}" \
    -out:"$directory/$name" "${@:3}" || return 1
  case $name in
    *.exe) file=(mono --debug "$directory/$name") name=${name%.exe} ;;
    *) file=("$csharp_dotnet/dotnet" "$directory/$name") name=${name%.dll} ;;
  esac
  if [ "$name" = Dlcore ]; then return 0; fi
  printf '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"%s"}}}\n' \
    "$csharp_runtime_version" >"$directory/$name.runtimeconfig.json"
  printf '#!/bin/sh\nexport LD_LIBRARY_PATH="%s/build/capi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n' "$root" >"$directory/$name"
  printf 'export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_CLI_TELEMETRY_OPTOUT=1\nexec %s "$@"\n' "${file[*]@Q}" \
    >>"$directory/$name"
  chmod +x "$directory/$name"
}

# csharp_program RUNTIME NAME SOURCE... : a program that uses the package.
csharp_program() {
  local end=exe
  if [ "$1" = coreclr ]; then end=dll; fi
  csharp_compile "$1" "$2.$end" -target:exe "-r:$csharp_output/$1/Dlcore.dll" "${@:3}"
}

# What is compiled, and the commands that compile it.
csharp_sources=("$root"/bindings/csharp/{Generated,Source} "$root"/tests/{bindings,conformance}/csharp
  "$root"/tests/benchmarks/worker/csharp "$root"/examples/{fashion_mnist,serve}/csharp
  "$root"/docs/guide.cs "${BASH_SOURCE[0]}")

# build_csharp_for RUNTIME : the package and all programs, when a source is newer than they are.
build_csharp_for() {
  local stamp=$csharp_output/$1/built
  if [ -f "$stamp" ] && [ -z "$(find "${csharp_sources[@]}" -newer "$stamp" -print -quit)" ]; then return 0; fi
  csharp_compile "$1" Dlcore.dll -target:library "-doc:$csharp_output/$1/Dlcore.xml" \
    "$root"/bindings/csharp/{Generated,Source}/*.cs &&
    csharp_program "$1" conformance "$root"/tests/conformance/csharp/*.cs &&
    csharp_program "$1" binding_tests "$root"/tests/bindings/csharp/*.cs &&
    csharp_program "$1" guide "$root"/docs/guide.cs &&
    csharp_program "$1" benchmark_worker "$root"/tests/benchmarks/worker/csharp/*.cs &&
    csharp_program "$1" example_fashion_mnist "$root"/examples/fashion_mnist/csharp/*.cs &&
    csharp_program "$1" example_serve "$root"/examples/serve/csharp/*.cs &&
    touch "$stamp"
}

build_csharp() { build_csharp_for mono && build_csharp_for coreclr; }

suite_csharp() {
  local runtime
  for runtime in mono coreclr; do
    tally "$csharp_output/$runtime/conformance" "$root/tests/conformance/cases"
    tally "$csharp_output/$runtime/binding_tests"
    tally --check "guide.cs on $runtime" "$csharp_output/$runtime/guide" "$csharp_output/guide.safetensors"
  done
}

# example_csharp NAME ARGUMENT... : on CoreCLR, or on the runtime that DLCORE_CSHARP names (mono).
example_csharp() { "$csharp_output/${DLCORE_CSHARP:-coreclr}/example_$1" "${@:2}"; }
soak_csharp() {
  "$csharp_output/mono/binding_tests" soak "$@" && "$csharp_output/coreclr/binding_tests" soak "$@"
}
worker_csharp() { exec "$csharp_output/$1/benchmark_worker" "${@:2}"; } # worker_csharp RUNTIME THREADS
