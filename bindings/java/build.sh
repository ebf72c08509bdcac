#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Java binding against a built library:
#   bindings/java/build.sh BUILD OUTPUT           everything, into OUTPUT/dlcore.jar
#   bindings/java/build.sh BUILD OUTPUT natives   only the native parts, for Maven
#   bindings/java/build.sh BUILD OUTPUT javadoc   the documentation, into OUTPUT/javadoc; fails where some is missing
# BUILD is Meson's build directory; OUTPUT gets swig/ (generated Java), natives/ (as they lie in the jar), classes/.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
output=$(cd "$2" && pwd)

java_home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
generated=$here/src/generated
natives=$output/natives/org/dlcore/natives/linux-$(uname -m)

# Whether something that $1 was made of is newer than it.
stale() {
  [ ! -e "$1" ] || [ -n "$(find "${@:2}" -newer "$1" -print -quit)" ]
}

build_natives() {
  local swig=$output/swig/org/dlcore/internal library
  library=$(readlink -f "$build/capi/libdlcore.so.1")
  stale "$natives/hash" "$here/src/main/c" "$generated/swig" "$generated/c" "$root/capi/include" "$library" || return 0
  rm -rf "$natives" "$output/swig"
  mkdir -p "$natives" "$swig"
  swig -java -package org.dlcore.internal -I"$root/capi/include" -outdir "$swig" -o "$output/raw_wrap.c" \
    "$generated/swig/dlcore.i"
  cp "$library" "$natives/libdlcore.so.1"
  strip "$natives/libdlcore.so.1"
  local compile=(cc -std=c11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -I"$java_home/include"
    -I"$java_home/include/linux" -I"$root/capi/include" -I"$generated/c")
  "${compile[@]}" -fno-strict-aliasing -Wno-unused-parameter -c "$output/raw_wrap.c" -o "$output/raw_wrap.o"
  "${compile[@]}" -c "$here/src/main/c/native.c" -o "$output/native.o"
  "${compile[@]}" -c "$here/src/main/c/callbacks.c" -o "$output/callbacks.o"
  cc -shared -s -Wl,-z,defs '-Wl,-rpath,$ORIGIN' -o "$natives/libdlcore_java.so" "$output"/{raw_wrap,native,callbacks}.o \
    "$natives/libdlcore.so.1"
  cat "$natives"/*.so* | sha256sum | cut -c1-32 >"$natives/hash"
}

build_jar() {
  local classes=$output/classes
  stale "$output/dlcore.jar" "$here/src" "$natives" || return 0
  rm -rf "$classes"
  find "$here/src/main/java" "$generated/java" "$output/swig" -name '*.java' >"$output/sources"
  javac --release 17 -Xlint:all -Werror -encoding UTF-8 -d "$classes" "@$output/sources"
  jar --create --file "$output/dlcore.jar" -C "$classes" . -C "$output/natives" org
}

build_javadoc() {
  javadoc -quiet -Xdoclint:all -Werror -encoding UTF-8 -d "$output/javadoc" --module-path "$output/dlcore.jar" \
    --patch-module "org.dlcore=$output/swig" --source-path "$here/src/main/java:$generated/java" org.dlcore \
    org.dlcore.nn org.dlcore.op org.dlcore.optim
}

build_natives
case ${3:-} in
  natives) ;;
  javadoc) build_jar && build_javadoc ;;
  *) build_jar ;;
esac
