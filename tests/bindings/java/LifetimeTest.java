// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayList;
import java.util.List;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.optim.ExponentialLR;
import org.dlcore.optim.SGD;
import org.junit.jupiter.api.Test;

/** Who owns what, and what is given back when. */
final class LifetimeTest extends EngineTest {
  private long tensors() {
    return engine.statistics().liveTensors();
  }

  @Test
  void scopeGivesBackWhatItsTurnMade() {
    Tensor kept;
    try (Scope scope = dl.scope()) {
      Tensor x = dl.full(2, 3);
      kept = scope.keep(x.add(1));
      x.add(2).close();
      assertEquals(2, tensors());
      scope.reset();
      assertEquals(1, tensors());
      assertThrows(FailedPreconditionException.class, () -> x.add(1));
    }
    assertEquals(1, tensors());
    assertEquals(6, kept.sum().toFloat());
  }

  @Test
  void outerScopeClosesInnerOnes() {
    Scope outer = dl.scope();
    Tensor a = dl.full(1);
    Scope inner = dl.scope();
    Tensor b = dl.full(1);
    inner.keep(b);
    Tensor c = dl.full(1);
    assertThrows(InvalidArgumentException.class, () -> inner.keep(a));
    outer.close();
    inner.close();
    outer.close();
    assertTrue(a.isClosed() && b.isClosed() && c.isClosed());
    assertEquals(0, tensors());
    dl.full(1); // belongs to no scope
    assertEquals(1, tensors());
  }

  @Test
  void scopeEndsWithAnException() {
    assertThrows(
        InvalidArgumentException.class,
        () -> {
          try (Scope scope = dl.scope()) {
            dl.full(2, 3).matmul(dl.full(2, 3));
          }
        });
    assertEquals(0, tensors());
  }

  @Test
  void scopeOfManyTensors() {
    try (Scope scope = dl.scope()) {
      List<Tensor> made = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        made.add(dl.full(1));
      }
      for (int i = 0; i < 1000; i += 3) {
        made.get(i).close();
      }
      assertEquals(666, tensors());
    }
    assertEquals(0, tensors());
  }

  @Test
  void closedTensorIsRefused() {
    Tensor x = dl.full(2, 3);
    x.close();
    x.close();
    assertTrue(x.isClosed());
    for (Runnable use :
        List.<Runnable>of(
            x::relu,
            () -> x.add(1),
            () -> dl.add(dl.full(1), x),
            x::dtype,
            x::shape,
            x::toFloatArray,
            x::backward,
            () -> x.on(dl),
            () -> dl.concat(x, x),
            () -> x.read(java.nio.FloatBuffer.allocate(6)))) {
      DlcoreException error = assertThrows(FailedPreconditionException.class, use::run);
      assertEquals("tensor: it is closed", error.getMessage());
    }
    assertEquals("Tensor(closed)", x.toString());
  }

  @Test
  void closedResourcesAreRefused() {
    Module model = new Linear(dl, 2, 2);
    var sgd = new SGD(dl, model.parameters());
    var schedule = new ExponentialLR(dl, sgd, 0.5);
    Variable weight = model.find("weight");
    Loader loader = dl.data().of(dl.full(4, 2), dl.full(4)).batch(2);
    Checkpoint checkpoint = dl.checkpoint();
    Graph graph;
    try (Capture capture = dl.capture("g")) {
      graph = capture.end(capture.input("x", DType.F32, "[2]").add(1));
    }
    Executable executable = graph.compile();
    List<AutoCloseable> all =
        List.of(model, sgd, schedule, weight, checkpoint, graph, executable, loader);
    List<Runnable> uses =
        List.of(
            () -> model.call(dl.full(1, 2)),
            sgd::step,
            schedule::step,
            weight::value,
            () -> checkpoint.text("x"),
            graph::text,
            () -> executable.run(1, dl.full(2)),
            loader::samples);
    loader.open();
    for (int i = 0; i < all.size(); i++) {
      for (int twice = 0; twice < 2; twice++) {
        assertDoesNotThrow(all.get(i)::close);
      }
      Runnable use = uses.get(i);
      DlcoreException error = assertThrows(FailedPreconditionException.class, use::run);
      assertTrue(error.getMessage().endsWith(": it is closed"), error.getMessage());
    }
  }

  @Test
  void closedContextAndEngineAreRefused() {
    Tensor x = dl.full(2);
    Module model = new Linear(dl, 2, 2);
    Scope scope = dl.scope();
    dl.close();
    dl.close();
    scope.close();
    x.close();
    assertTrue(x.isClosed() && model.isClosed() && dl.isClosed());
    assertEquals(NOTHING, live(engine));
    assertEquals(
        "context: it is closed",
        assertThrows(FailedPreconditionException.class, () -> dl.full(2)).getMessage());
    try (Engine other = Engine.open();
        Context late = other.context("cpu")) {
      Tensor y = late.full(2);
      other.close();
      other.close();
      assertThrows(FailedPreconditionException.class, () -> other.context("cpu"));
      assertThrows(FailedPreconditionException.class, other::statistics);
      assertThrows(FailedPreconditionException.class, () -> y.add(1));
    }
  }

  @Test
  void collectorGivesBackWhatIsForgotten() throws InterruptedException {
    forget();
    await(
        () -> {
          System.gc();
          return tensors() == 0 && engine.statistics().liveModules() == 0;
        },
        "what nobody has any more is given back");
  }

  private void forget() {
    for (int i = 0; i < 100; i++) {
      dl.full(10);
    }
    new Sequential(dl, new Linear(dl, 2, 2)).parameters();
    assertEquals(100, tensors());
  }

  @Test
  void collectorGivesBackForgottenContexts() throws InterruptedException {
    engine.context("cpu").full(10);
    await(
        () -> {
          System.gc();
          return engine.statistics().liveContexts() == 1;
        },
        "a context that nobody has any more is closed");
  }

  @Test
  void loopOverLoaderIsOneScopePerTurn() {
    Loader loader = dl.data().of(dl.arange(10).astype(DType.F32), dl.arange(10)).batch(3);
    loader.open();
    long before = tensors();
    int turns = 0;
    Tensor kept = null;
    for (Batch b : loader) {
      Tensor sum = b.x().sum();
      assertTrue(tensors() <= before + 4, "what the turn before made is gone");
      if (turns++ == 1) {
        kept = b.keep(sum);
      }
    }
    assertEquals(4, turns);
    assertEquals(12, kept.toFloat());
    kept.close();
    assertEquals(before, tensors());
  }

  @Test
  void loopThatIsLeftEarly() {
    Loader loader = dl.data().of(dl.arange(10), dl.arange(10)).batch(3).open();
    long before = tensors();
    for (Batch b : loader) {
      try (b) {
        b.x().add(1);
        break;
      }
    }
    assertEquals(before, tensors());
    assertThrows(
        IllegalStateException.class,
        () -> {
          for (Batch b : loader) {
            try (b) {
              assertEquals(3, b.x().min().toLong()); // goes on where the loop before stopped
              throw new IllegalStateException();
            }
          }
        });
    assertEquals(before, tensors());
    for (Batch b : loader) {
      assertEquals(6, b.x().min().toLong());
      break; // without closing: the turn stays open until the next loop
    }
    assertTrue(tensors() > before);
    for (Batch b : loader) {
      assertEquals(9, b.x().min().toLong());
    }
    assertEquals(before, tensors());
  }
}
