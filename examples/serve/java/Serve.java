// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.optim.Adam;

/**
 * One engine, one model, many request threads, each with a context of its own, that answer from a
 * snapshot while one more thread trains and publishes new ones.
 *
 * <p>Serve [--requests N] [--workers N] [--check]
 */
public final class Serve {
  private static final int PIXELS = 784;
  private static final int PROBES = 8;

  /** A snapshot, and what it answers to each of the probes. */
  private record Published(Module model, float[][] answers) {}

  private final Engine engine;
  private final int workers;
  private final boolean checked;
  private final List<Published> steps =
      new CopyOnWriteArrayList<>(); // the last one is what workers answer from
  private final AtomicLong wrong = new AtomicLong();

  private Serve(Engine engine, int workers, boolean checked) {
    this.engine = engine;
    this.workers = workers;
    this.checked = checked;
  }

  public static void main(String[] arguments) throws Exception {
    int requests = 10_000;
    int workers = 32;
    boolean checked = false;
    try {
      for (Iterator<String> given = List.of(arguments).iterator(); given.hasNext(); ) {
        switch (given.next()) {
          case "--requests" -> requests = Integer.parseUnsignedInt(given.next());
          case "--workers" -> workers = Integer.parseUnsignedInt(given.next());
          case "--check" -> checked = true;
          default -> throw new NoSuchElementException();
        }
      }
    } catch (NoSuchElementException | NumberFormatException error) {
      System.err.println("usage: Serve [--requests N] [--workers N] [--check]");
      System.exit(2);
    }
    try (var engine = Engine.open();
        var dl = engine.context("cpu", 42)) {
      var serve = new Serve(engine, Math.max(workers, 1), checked);
      serve.run(dl, requests);
      System.out.printf(
          "%d requests, %d wrong, %d steps%n", requests, serve.wrong.get(), serve.steps.size() - 1);
      System.exit(serve.wrong.get() == 0 ? 0 : 1);
    }
  }

  private void run(Context dl, int requests) throws Exception {
    var model =
        new Sequential(dl, new Linear(dl, PIXELS, 256), new ReLU(dl), new Linear(dl, 256, 10));
    publish(dl, model);
    var pool = Executors.newFixedThreadPool(workers);
    var contexts = ConcurrentHashMap.<Context>newKeySet();
    var context = ThreadLocal.withInitial(() -> opened(contexts));
    List<Future<?>> answers = new ArrayList<>();
    for (int i = 0; i < requests; i++) {
      int probe = i % PROBES;
      answers.add(pool.submit(() -> answer(context.get(), probe)));
    }
    pool.shutdown(); // what was submitted is still answered
    train(dl, model, pool);
    for (Future<?> answer : answers) {
      answer.get(); // throws what a request threw
    }
    contexts.forEach(Context::close);
  }

  private Context opened(java.util.Set<Context> contexts) {
    Context dl = engine.context("cpu");
    contexts.add(dl);
    return dl;
  }

  private void answer(Context dl, int probe) {
    float[] scores = ask(dl, steps.get(steps.size() - 1).model, probe);
    if (checked && steps.stream().noneMatch(step -> Arrays.equals(step.answers[probe], scores))) {
      wrong.incrementAndGet();
    }
  }

  private static float[] ask(Context dl, Module model, int probe) {
    float[] pixels = new float[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
      pixels[i] = (i * 31 + probe * 17) % 256 / 255f;
    }
    try (var scope = dl.scope()) {
      return model.call(dl.tensor(pixels, 1, PIXELS)).toFloatArray();
    }
  }

  private void train(Context dl, Module model, ExecutorService pool) throws InterruptedException {
    var adam = new Adam(dl, model.parameters(), Adam.options().lr(1e-3));
    while (!pool.isTerminated()) {
      try (var step = dl.scope()) {
        Tensor x = dl.randomUniform(64, PIXELS);
        Tensor y = dl.randomIntegers(new long[] {64}, 0, 10);
        dl.crossEntropy(model.call(x), y).backward();
        adam.step();
      }
      publish(dl, model);
    }
  }

  /** What the model is now becomes what requests are answered from. */
  private void publish(Context dl, Module model) {
    Module snapshot = model.snapshot();
    float[][] answers = new float[PROBES][];
    for (int probe = 0; probe < PROBES; probe++) {
      answers[probe] = ask(dl, snapshot, probe);
    }
    steps.add(new Published(snapshot, answers));
  }
}
