// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.junit.jupiter.api.Test;

/** Many threads on one engine, each with a context of its own. */
final class ThreadsTest extends EngineTest {
  private void manyTasks(ExecutorService pool, int tasks) throws Exception {
    Module model =
        new Sequential(dl, new Linear(dl, 16, 32), new ReLU(dl), new Linear(dl, 32, 4)).snapshot();
    float[] expected = model.call(dl.full(8, 16).add(1)).toFloatArray();
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      all.add(
          pool.submit(
              () -> {
                try (Context mine = engine.context("cpu", 7)) {
                  for (int turn = 0; turn < 50; turn++) {
                    try (Scope scope = mine.scope()) {
                      assertArrayEquals(
                          expected, model.call(mine.full(8, 16).add(1)).toFloatArray());
                      Tensor x = mine.tensor(new float[] {3}).watch();
                      x.square().sum().backward();
                    }
                  }
                }
                return null;
              }));
    }
    for (Future<?> task : all) {
      task.get();
    }
    pool.shutdown();
  }

  @Test
  void thirtyTwoThreads() throws Exception {
    manyTasks(Executors.newFixedThreadPool(32), 32);
  }

  @Test
  void virtualThreads() throws Exception {
    ExecutorService pool;
    try {
      pool =
          (ExecutorService)
              Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException error) {
      org.junit.jupiter.api.Assumptions.abort("this Java has none");
      return;
    }
    manyTasks(pool, 200);
  }

  @Test
  void contextMovesBetweenThreads() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    Tensor sum = dl.full(1);
    for (int i = 0; i < 200; i++) {
      Tensor before = sum;
      sum = pool.submit(() -> before.add(1)).get();
    }
    assertEquals(200, sum.toFloat());
    pool.shutdown();
  }

  @Test
  void tensorsOfBusyContextsCanBeShared() throws Exception {
    Tensor x = dl.full(3).add(2);
    Thread reader =
        new Thread(
            () -> {
              try (Context mine = engine.context("cpu")) {
                for (int i = 0; i < 200; i++) {
                  try (Tensor own = x.on(mine)) {
                    assertEquals(6, own.sum().toFloat());
                  }
                }
              }
            });
    Throwable[] failure = new Throwable[1];
    reader.setUncaughtExceptionHandler((thread, error) -> failure[0] = error);
    reader.start();
    while (reader.isAlive()) {
      x.add(1).close();
    }
    assertNull(failure[0]);
  }

  @Test
  void closingElsewhereMakesNoCallFail() throws Exception {
    ExecutorService closer = Executors.newSingleThreadExecutor();
    for (int i = 0; i < 20000; i++) {
      Tensor made = dl.full(i);
      closer.execute(made::close);
    }
    closer.shutdown();
    assertTrue(closer.awaitTermination(60, TimeUnit.SECONDS));
  }
}
