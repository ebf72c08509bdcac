// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.optim.ExponentialLR;
import org.dlcore.optim.SGD;
import org.dlcore.optim.Schedule;
import org.junit.jupiter.api.Test;

/** Closing from another thread while calls run: a clear error or nothing, never a crash. */
final class CloseWhileRunningTest extends EngineTest {
  private static final int ROUNDS = 60;

  /** Uses what it makes again and again on this thread until another one has closed it. */
  private <T extends AutoCloseable> void race(Supplier<T> make, java.util.function.Consumer<T> use)
      throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      try (Scope scope = dl.scope()) {
        T object = make.get();
        AtomicReference<Throwable> unexpected = new AtomicReference<>();
        int pause = round * 20;
        Thread closer =
            new Thread(
                () -> {
                  try {
                    for (long end = System.nanoTime() + 1000L * pause; System.nanoTime() < end; ) {
                      Thread.onSpinWait();
                    }
                    object.close();
                  } catch (Throwable error) {
                    unexpected.set(error);
                  }
                });
        closer.start();
        DlcoreException error =
            assertThrows(FailedPreconditionException.class, () -> useUntil(unexpected, object, use));
        assertTrue(error.getMessage().endsWith("it is closed"), error.getMessage());
        closer.join();
        assertNull(unexpected.get());
      }
    }
  }

  private <T> void useUntil(
      AtomicReference<Throwable> unexpected, T object, java.util.function.Consumer<T> use) {
    while (unexpected.get() == null) {
      try (Scope scope = dl.scope()) {
        use.accept(object);
      }
    }
    throw new AssertionError("closing failed", unexpected.get());
  }

  @Test
  void tensor() throws Exception {
    race(() -> dl.full(64, 64), x -> x.matmul(x).sum());
  }

  @Test
  void module() throws Exception {
    race(() -> new Linear(dl, 64, 64), model -> model.call(dl.full(64, 64)));
  }

  @Test
  void variable() throws Exception {
    race(() -> new Variable(dl, "v", dl.full(1000), true), v -> v.value().add(1));
  }

  @Test
  void optimizer() throws Exception {
    Module model = new Linear(dl, 8, 8);
    race(
        () -> new SGD(dl, model.parameters()),
        sgd -> {
          model.call(dl.full(8, 8)).sum().backward();
          sgd.step();
        });
  }

  @Test
  void schedule() throws Exception {
    var sgd = new SGD(dl, new Linear(dl, 8, 8).parameters());
    race(() -> new ExponentialLR(dl, sgd, 0.5), Schedule::step);
  }

  @Test
  void loader() throws Exception {
    race(
        () -> dl.data().of(dl.full(100, 8), dl.full(100)).batch(3).open(),
        loader -> {
          for (Batch b : loader) {
            b.x().sum();
          }
        });
  }

  @Test
  void executable() throws Exception {
    Graph graph;
    try (Capture capture = dl.capture("g")) {
      Tensor x = capture.input("x", DType.F32, "[64, 64]");
      graph = capture.end(x.matmul(x));
    }
    race(graph::compile, executable -> executable.run(1, dl.full(64, 64)));
  }

  @Test
  void context() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      Context other = engine.context("cpu");
      Tensor x = other.full(64, 64);
      Thread closer = new Thread(other::close);
      closer.start();
      DlcoreException error =
          assertThrows(
              FailedPreconditionException.class,
              () -> {
                while (true) {
                  x.matmul(x).close();
                }
              });
      assertTrue(error.getMessage().endsWith("it is closed"), error.getMessage());
      closer.join();
      await(() -> engine.statistics().liveContexts() == 1, "the context is gone");
    }
  }

  @Test
  void engine() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      Engine other = Engine.open(Engine.options().threads(2));
      Thread closer = new Thread(other::close);
      try (Context late = other.context("cpu")) {
        Tensor x = late.full(64, 64);
        closer.start();
        assertThrows(
            FailedPreconditionException.class,
            () -> {
              while (true) {
                x.matmul(x).close();
              }
            });
      }
      closer.join();
    }
  }

  @Test
  void contextThatIsBusyRefusesOtherThreads() throws Exception {
    AtomicReference<DlcoreException> refusal = new AtomicReference<>();
    dl.register(
        "intruded",
        1,
        1,
        0,
        new CustomOp() {
          @Override
          public void infer(OpCall call) {
            call.setOutputLike(0, call.input(0));
          }

          @Override
          public void forward(OpCall call) throws InterruptedException {
            Thread intruder =
                new Thread(
                    () ->
                        refusal.set(
                            assertThrows(FailedPreconditionException.class, () -> dl.full(1))));
            intruder.start();
            intruder.join();
            call.setOutput(0, call.input(0));
          }
        });
    dl.op("intruded").call(dl.full(2));
    assertEquals(
        "context: another thread is inside a call on it; open a context for each thread",
        refusal.get().getMessage());
    dl.full(1); // the owner is not troubled
  }
}
