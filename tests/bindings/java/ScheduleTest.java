// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Path;
import java.util.List;
import org.dlcore.*;
import org.dlcore.optim.*;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Learning rates that follow the number of steps. */
final class ScheduleTest extends EngineTest {
  private static final double BASE = 0.1;

  @TempDir Path folder;

  private SGD sgd() {
    Variable w = new Variable(dl, "w", dl.full(1), true);
    return new SGD(dl, List.of(w), BASE);
  }

  private static double rate(Optimizer optimizer) {
    return optimizer.learningRate().value().toDouble();
  }

  private static long count(Schedule schedule) {
    return schedule.count().value().toLong();
  }

  private static double wave(double from, double to, double p) {
    return to + (from - to) * (1 + Math.cos(Math.PI * p)) / 2;
  }

  @Test
  void cosineAnnealingFollowsItsFormula() {
    SGD plain = sgd();
    SGD floored = sgd();
    Schedule toZero = new CosineAnnealingLR(dl, plain, 10);
    Schedule toFloor =
        new CosineAnnealingLR(dl, floored, 10, CosineAnnealingLR.options().etaMin(0.02));
    for (int t = 0; t <= 10; t++) {
      assertEquals(wave(BASE, 0, t / 10.0), rate(plain), 1e-12);
      assertEquals(wave(BASE, 0.02, t / 10.0), rate(floored), 1e-12);
      assertEquals(t, count(toZero));
      toZero.step();
      toFloor.step();
    }
    assertEquals("CosineAnnealingLR", toZero.kind());
  }

  /** A schedule, and the rate that it has to give after some steps. */
  private void expect(int steps, double expected, SGD optimizer, Schedule schedule) {
    for (int i = 0; i < steps; i++) {
      schedule.step();
    }
    assertEquals(expected, rate(optimizer), 1e-12, schedule.kind());
    assertEquals(schedule.getClass().getSimpleName(), schedule.kind());
  }

  @Test
  void attributesArriveWhereTheyBelong() {
    SGD o = sgd();
    expect(1, BASE * 0.25, o, new ConstantLR(dl, o, 0.25, 2));
    o = sgd();
    expect(1, BASE / 3, o, new ConstantLR(dl, o));
    o = sgd();
    expect(5, BASE, o, new ConstantLR(dl, o, ConstantLR.options().factor(0.25)));
    o = sgd();
    expect(1, BASE * 0.4, o, new LinearLR(dl, o, 0.2, 1, 4));
    o = sgd();
    expect(4, BASE * 0.1 * 0.1, o, new StepLR(dl, o, 2));
    o = sgd();
    expect(4, BASE * 0.25, o, new StepLR(dl, o, 2, 0.5));
    o = sgd();
    expect(4, BASE * 0.01, o, new MultiStepLR(dl, o, 1, 3, 5));
    o = sgd();
    expect(4, BASE * 0.25, o, new MultiStepLR(dl, o, new long[] {1, 3, 5}, 0.5));
    o = sgd();
    expect(3, BASE * 0.125, o, new ExponentialLR(dl, o, 0.5));
    o = sgd();
    expect(1, BASE * 0.5625, o, new PolynomialLR(dl, o, 4, 2));
    o = sgd();
    var floor = WarmupCosine.options().startFactor(0.5).etaMin(0.01);
    expect(3, wave(BASE, 0.01, 0.5), o, new WarmupCosine(dl, o, 2, 4, floor));
    o = sgd();
    expect(0, BASE / 25, o, new OneCycleLR(dl, o, 10));
    o = sgd();
    expect(0, 2.0 / 25, o, new OneCycleLR(dl, o, 2.0, 10));
    o = sgd();
    var options =
        OneCycleLR.options()
            .maxLr(1)
            .pctStart(0.5)
            .divFactor(10)
            .annealStrategy(OneCycleLR.Options.AnnealStrategy.LINEAR);
    expect(2, 0.1 + 0.9 * 2 / 4, o, new OneCycleLR(dl, o, 10, options));
  }

  @Test
  void everyGroupHasABaseRate() {
    SGD o = sgd();
    o.addGroup(List.of(new Variable(dl, "v", dl.full(1), true)), SGD.options().lr(2));
    Schedule halves = new ExponentialLR(dl, o, 0.5);
    halves.step();
    assertEquals(BASE / 2, rate(o), 1e-12);
    assertEquals(1, o.learningRate(1).value().toDouble());
    assertEquals(2, halves.baseRate(1).value().toDouble());
    halves.baseRate().assign(dl.tensor(new double[] {8}, new long[0]));
    halves.count().assign(dl.tensor(new long[] {2}, new long[0]));
    halves.step();
    assertEquals(1, rate(o));
    assertThrows(OutOfRangeException.class, () -> halves.baseRate(2));
    assertThrows(OutOfRangeException.class, () -> halves.baseRate(-1));
  }

  @Test
  void whatIsWrongIsTheEnginesError() {
    SGD o = sgd();
    DlcoreException error =
        assertThrows(InvalidArgumentException.class, () -> new CosineAnnealingLR(dl, o, 0));
    assertTrue(error.getMessage().startsWith("cosine_annealing_lr: t_max is 0"), error::toString);
    assertThrows(InvalidArgumentException.class, () -> new ExponentialLR(dl, o, Double.NaN));
    assertThrows(InvalidArgumentException.class, () -> new MultiStepLR(dl, o, 3, 1));
    assertThrows(InvalidArgumentException.class, () -> new StepLR(dl, null, 2));
    try (Engine other = Engine.open();
        Context foreign = other.context("cpu")) {
      assertThrows(InvalidArgumentException.class, () -> new StepLR(foreign, o, 2));
    }
    assertEquals(BASE, rate(o));
    assertEquals(0, engine.statistics().liveSchedules());
    o.close();
    assertThrows(FailedPreconditionException.class, () -> new StepLR(dl, o, 2));
  }

  @Test
  void scheduleKeepsItsOptimizerUntilItIsClosed() {
    SGD o = sgd();
    Variable rate = o.learningRate();
    Schedule halves = new ExponentialLR(dl, o, 0.5);
    o.close();
    halves.step();
    assertEquals(BASE / 2, rate.value().toDouble(), 1e-12);
    assertEquals(1, engine.statistics().liveOptimizers());
    halves.close();
    halves.close();
    assertEquals(0, engine.statistics().liveSchedules());
    assertEquals(0, engine.statistics().liveOptimizers());
    for (Runnable use : List.<Runnable>of(halves::step, halves::kind, halves::count)) {
      DlcoreException error = assertThrows(FailedPreconditionException.class, use::run);
      assertEquals("schedule: it is closed", error.getMessage());
    }
    assertThrows(FailedPreconditionException.class, () -> dl.checkpoint().add("s", halves));
  }

  @Test
  void checkpointGoesOnFromItsCount() {
    Path file = folder.resolve("state");
    SGD one = sgd();
    Schedule first = new CosineAnnealingLR(dl, one, 10);
    Checkpoint saved = dl.checkpoint().add("sgd", one).add("rates", first);
    for (int i = 0; i < 4; i++) {
      first.step();
    }
    saved.save(file);
    first.step();
    SGD two = sgd();
    Schedule second = new CosineAnnealingLR(dl, two, 10);
    dl.checkpoint().add("sgd", two).add("rates", second).load(file);
    assertEquals(4, count(second));
    second.step();
    assertEquals(5, count(second));
    assertEquals(rate(one), rate(two));
    assertThrows(AlreadyExistsException.class, () -> saved.add("rates", second));
  }

  @Test
  void compiledStepsAreThoseOfTheSchedule() {
    SGD o = sgd();
    Schedule halves = new ExponentialLR(dl, o, 0.5);
    var step =
        dl.compile(
            (Tensor x) -> {
              halves.step();
              return x.add(1);
            });
    for (int t = 1; t <= 4; t++) {
      step.run(dl.full(1));
      assertEquals(t, count(halves));
      assertEquals(BASE * Math.pow(0.5, t), rate(o), 1e-12);
    }
    assertTrue(step.explain().contains("compiled"), step::explain);
  }
}
