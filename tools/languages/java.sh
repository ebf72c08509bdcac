# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and examples/run: Java. Everything is built with javac and jar into build-java/, which takes
# seconds and no network; Maven builds the same jar in the check of the package.

# junit5 and libgoogle-gson-java are for tests only.
java_packages=(openjdk-17-jdk-headless maven junit5 libgoogle-gson-java)
java_output=build-java
java_jar=$java_output/dlcore.jar
java_test_path=$java_jar:/usr/share/java/gson.jar:/usr/share/java/junit-jupiter-api.jar
for java_library in junit-jupiter-engine junit-jupiter-params junit-platform-commons junit-platform-engine \
  junit-platform-launcher opentest4j apiguardian-api; do
  java_test_path+=:/usr/share/java/$java_library.jar
done

setup_java() {
  command -v dpkg-query >/dev/null || return 0
  installed "${java_packages[@]}" || install_packages "${java_packages[@]}"
}

# compile_java NAME FILE... : into build-java/NAME, when something is newer
compile_java() {
  local classes=$java_output/$1
  if [ -d "$classes" ] && [ -z "$(find "$java_jar" "${@:2}" -newer "$classes" -print -quit)" ]; then return; fi
  rm -rf "$classes"
  javac --release 17 -Xlint:all,-try -Werror -encoding UTF-8 -cp "$java_test_path" -d "$classes" "${@:2}"
  touch "$classes"
}

build_java() {
  bindings/java/build.sh build "$java_output"
  compile_java conformance tests/conformance/java/*.java
  compile_java tests tests/bindings/java/*.java
  compile_java benchmark tests/benchmarks/worker/java/*.java
  compile_java fashion_mnist examples/fashion_mnist/java/*.java
  compile_java serve examples/serve/java/*.java
  compile_java guide docs/Guide.java
}

suite_java() {
  local run=(java -Xmx1g -cp)
  tally "${run[@]}" "$java_output/tests:$java_test_path" RunTests "$java_output/tests"
  tally "${run[@]}" "$java_output/conformance:$java_test_path" Conformance tests/conformance/cases capi/ops.json
  tally --check "documentation is complete" bindings/java/build.sh build "$java_output" javadoc
  tally --check "the guide holds" "${run[@]}" "$java_output/guide:$java_jar" Guide "$scratch"
  tally --check "Maven builds the package" bindings/java/package.sh build "$java_output"
}

# example_java NAME ARGUMENT... : runs an example; files go to the current directory
example_java() {
  local name=$1 main=Train
  if [ "$name" = serve ]; then main=Serve; fi
  java -cp "$root/$java_jar:$root/$java_output/$name" "$main" "${@:2}"
}
soak_java() { (cd "$root" && java -Xmx1g -cp "$java_output/tests:$java_test_path" SoakTest "$@"); }
worker_java() { exec java -cp "$root/$java_jar:$root/$java_output/benchmark" Worker "$@"; }
