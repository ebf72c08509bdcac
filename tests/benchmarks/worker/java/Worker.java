// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.dlcore.*;

/**
 * The Java binding's side of the benchmarks: answers lines as worker/main.c does. {@code
 * add16_java} is a + b of 16 floats, each result closed by the program; {@code add16_java_scope}
 * leaves them to a scope of 64 turns.
 */
public final class Worker {
  private static final int CHECKED_TURNS = 3;
  private static final int SCOPE_TURNS = 64;

  private final Engine engine;
  private Context dl;
  private Tensor a;
  private Tensor b;
  private String prepared = "";

  private Worker(Engine engine) {
    this.engine = engine;
  }

  public static void main(String[] args) throws Exception {
    int threads = args.length > 0 ? Integer.parseInt(args[0]) : 0;
    try (Engine engine = Engine.open(Engine.options().threads(threads))) {
      System.out.printf(
          "{\"name\": \"dlcore, Java\", \"version\": \"%s\", \"threads\": %d}%n",
          System.getProperty("java.version"), engine.statistics().threads());
      Worker worker = new Worker(engine);
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.out.println(worker.answer(line.trim().split(" ")));
        System.out.flush();
      }
      worker.drop();
    }
  }

  private String answer(String[] words) {
    try {
      switch (words[0]) {
        case "run":
          prepare(words[1]);
          return "seconds " + seconds(Long.parseLong(words[2]));
        case "check":
          drop();
          prepare(words[1]);
          return "value " + checksum();
        case "drop":
          drop();
          return "dropped";
        default:
          return "error the request '" + words[0] + "' is unknown";
      }
    } catch (DlcoreException | IllegalArgumentException | ArrayIndexOutOfBoundsException error) {
      return "error " + error.getMessage();
    }
  }

  private void prepare(String name) {
    if (prepared.equals(name)) {
      return;
    }
    if (!name.equals("add16_java") && !name.equals("add16_java_scope")) {
      throw new IllegalArgumentException("no benchmark " + name);
    }
    drop();
    dl = engine.context("cpu", 8);
    a = dl.tensor(fill(1));
    b = dl.tensor(fill(2));
    prepared = name;
  }

  private void drop() {
    if (dl != null) {
      dl.close();
      engine.trim();
    }
    dl = null;
    prepared = "";
  }

  /** The numbers that all sides compute with; see worker.h. */
  private static float[] fill(int seed) {
    float[] data = new float[16];
    for (int i = 0; i < data.length; i++) {
      int hash = (i + seed * 1000003) * (int) 2654435761L;
      data[i] = (hash >>> 8) * (1.0f / 16777216.0f) - 0.5f;
    }
    return data;
  }

  private double seconds(long turns) {
    long start = System.nanoTime();
    if (prepared.equals("add16_java")) {
      closed(turns);
    } else {
      scoped(turns);
    }
    return 1e-9 * (System.nanoTime() - start);
  }

  private void closed(long turns) {
    Tensor x = a;
    Tensor y = b;
    for (long i = 0; i < turns; i++) {
      x.add(y).close();
    }
  }

  private void scoped(long turns) {
    Tensor x = a;
    Tensor y = b;
    try (Scope scope = dl.scope()) {
      for (long i = 0; i < turns; i++) {
        x.add(y);
        if (i % SCOPE_TURNS == 0) {
          scope.reset();
        }
      }
    }
  }

  /** As worker/main.c takes it. */
  private double checksum() {
    double sum = 0;
    for (int turn = 0; turn < CHECKED_TURNS; turn++) {
      try (Tensor y = a.add(b)) {
        float[] values = y.toFloatArray();
        sum = 0;
        for (int i = 0; i < values.length; i++) {
          sum += (double) values[i] * Math.abs(values[i]) * (1 + i % 7);
        }
      }
    }
    return sum < 0 ? -Math.sqrt(-sum) : Math.sqrt(sum);
  }
}
