// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.dlcore.Context;
import org.dlcore.Engine;
import org.dlcore.Scope;

/**
 * Runs the conformance cases through the generated methods of Java.
 *
 * <p>Conformance FOLDER OPS_JSON [FILTER]
 */
public final class Conformance {
  private interface Check {
    void run(Context dl, Case test);
  }

  private final Catalogue catalogue;
  private final Set<String> covered = new HashSet<>();
  private int passed;
  private int failed;

  private Conformance(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  public static void main(String[] args) throws Exception {
    try (Reader reader = Files.newBufferedReader(Path.of(args[1]))) {
      Conformance run =
          new Conformance(new Catalogue(JsonParser.parseReader(reader).getAsJsonObject()));
      run.all(Corpus.load(Path.of(args[0])), args.length > 2 ? args[2] : "");
      System.exit(run.failed == 0 && run.passed > 0 ? 0 : 1);
    }
  }

  private void all(List<Corpus.Family> families, String filter) {
    try (Engine engine = Engine.open();
        Context dl = engine.context("cpu", 42)) {
      for (Corpus.Family family : families) {
        for (JsonObject json : family.cases()) {
          Case test = new Case(catalogue, family, json);
          if (test.name().contains(filter)) {
            one(dl, test);
          }
        }
      }
    }
    if (filter.isEmpty()) {
      requireCoverage();
    }
    System.out.println(catalogue.counts());
    System.out.println(passed + " passed, " + failed + " failed");
  }

  private void one(Context dl, Case test) {
    covered.add(test.op());
    try {
      for (Check check : checks(test)) {
        try (Scope scope = dl.scope()) {
          dl.seed(42);
          check.run(dl, test);
          scope.reset();
        }
      }
      passed++;
    } catch (RuntimeException error) {
      fail(test.name(), error.getMessage() == null ? error.toString() : error.getMessage());
    }
  }

  private static List<Check> checks(Case test) {
    if (test.expect().has("error")) {
      return List.of(Checks::error);
    }
    List<Check> checks = new ArrayList<>(List.of(Checks::outputs, Checks::layout));
    if (!test.differentiable().isEmpty()) {
      checks.add(Checks::gradients);
    }
    if (test.has("jvp")) {
      checks.add(DerivativeChecks::forwardMode);
    }
    if (test.has("smooth")) {
      checks.add(DerivativeChecks::gradcheck);
    }
    if (test.has("vmap")) {
      checks.add(DerivativeChecks::vmap);
    }
    return checks;
  }

  private void requireCoverage() {
    for (JsonObject op : catalogue.ops()) {
      String name = op.get("name").getAsString();
      if (!Catalogue.isHidden(op) && !covered.contains(name)) {
        fail("coverage/" + name, "no case");
      }
    }
  }

  private void fail(String name, String text) {
    failed++;
    System.out.println("FAILED " + name + ": " + text);
  }
}
