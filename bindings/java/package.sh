#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages the binding with Maven and runs a program with nothing but the jar:
#   bindings/java/package.sh BUILD OUTPUT
# Maven fetches its plug-ins when it runs for the first time.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$1" && pwd)
output=$(cd "$2" && pwd)/maven
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mvn -q -B -f "$here/pom.xml" package -DskipTests -Ddlcore.build="$build" -DbuildDirectory="$output"
cat >"$scratch/Program.java" <<'PROGRAM'
import org.dlcore.*;

public final class Program {
  public static void main(String[] args) {
    try (var dl = Context.open("cpu")) {
      System.out.println(dl.full(2, 3).add(1).sum().toFloat());
    }
  }
}
PROGRAM
jar=$output/dlcore-0.1.0.jar
answer=$(XDG_CACHE_HOME=$scratch java -cp "$jar" "$scratch/Program.java")
[ "$answer" = 6.0 ] || { echo "the program printed '$answer', expected 6.0" >&2; exit 1; }
answer=$(XDG_CACHE_HOME=$scratch java -p "$jar" --add-modules org.dlcore "$scratch/Program.java")
[ "$answer" = 6.0 ] || { echo "on the module path it printed '$answer', expected 6.0" >&2; exit 1; }
