// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.dlcore.Context;
import org.dlcore.Engine;
import org.dlcore.Statistics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** An engine and a context for each test, which has to leave nothing behind on the engine. */
abstract class EngineTest {
  static final String NOTHING =
      "0 tensors, 0 variables, 0 modules, 0 optimizers, 0 schedules, 0 loaders, 0 graphs,"
          + " 0 contexts";

  Engine engine;
  Context dl;

  @BeforeEach
  void open() {
    engine = Engine.open(Engine.options().threads(2));
    dl = engine.context("cpu", 42);
  }

  @AfterEach
  void nothingIsLeft() {
    dl.close();
    assertEquals(NOTHING, live(engine));
    engine.close();
  }

  static String live(Engine engine) {
    Statistics now = engine.statistics();
    return now.liveTensors()
        + " tensors, "
        + now.liveVariables()
        + " variables, "
        + now.liveModules()
        + " modules, "
        + now.liveOptimizers()
        + " optimizers, "
        + now.liveSchedules()
        + " schedules, "
        + now.liveLoaders()
        + " loaders, "
        + now.liveGraphs()
        + " graphs, "
        + now.liveContexts()
        + " contexts";
  }

  /** Waits until something holds, for the reaper; fails after ten seconds. */
  static void await(java.util.function.BooleanSupplier holds, String what)
      throws InterruptedException {
    for (int i = 0; i < 1000 && !holds.getAsBoolean(); i++) {
      Thread.sleep(10);
    }
    assertEquals(true, holds.getAsBoolean(), what);
  }
}
