// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.dlcore.*;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is said through System.Logger, which is java.util.logging here. */
final class LogTest extends EngineTest {
  private final Logger logger = Logger.getLogger("org.dlcore");
  private final List<String> records = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          records.add(record.getLoggerName() + " " + record.getLevel() + " " + record.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void listen() {
    logger.addHandler(handler);
    logger.setUseParentHandlers(false);
  }

  @AfterEach
  void listenNoMore() {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
  }

  @Test
  void recordsOfTheEngineArrive() throws InterruptedException {
    org.dlcore.internal.Raw.dlcore_engine_log(
        engine.address(), 30, "tester", "a message \ud83d\ude42");
    await(
        () -> records.contains("org.dlcore.tester WARNING a message \ud83d\ude42"),
        records.toString());
    engine.logLevel(System.Logger.Level.ERROR);
    org.dlcore.internal.Raw.dlcore_engine_log(engine.address(), 30, "tester", "not this one");
    org.dlcore.internal.Raw.dlcore_engine_log(engine.address(), 40, "tester", "but this one");
    await(() -> records.contains("org.dlcore.tester SEVERE but this one"), records.toString());
    assertFalse(records.toString().contains("not this one"));
  }

  @Test
  void manyTensorsOutsideOfScopesAreNamedOnce() {
    Tensor[] kept = new Tensor[10_500];
    for (int i = 0; i < kept.length; i++) {
      kept[i] = dl.scalar(1);
    }
    assertEquals(
        1, records.stream().filter(r -> r.contains("more than 10000 live tensors")).count());
    assertTrue(records.toString().contains("LogTest.java:"), records.toString());
  }

  @Test
  void progressOfALoop() {
    Loader loader = dl.data().of(dl.arange(10), dl.arange(10)).batch(4);
    var out = new java.io.ByteArrayOutputStream();
    var before = System.out;
    System.setOut(new java.io.PrintStream(out));
    try {
      Progress progress = Progress.of(loader, "epoch 1");
      for (Batch b : progress) {
        progress.note("last " + b.x().max().toLong());
      }
    } finally {
      System.setOut(before);
    }
    String text = out.toString();
    assertTrue(text.startsWith("epoch 1  10 samples  last 9  "), text);
    assertEquals(1, text.lines().count());
  }
}
