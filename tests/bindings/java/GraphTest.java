// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.util.List;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.optim.Adam;
import org.junit.jupiter.api.Test;

/** Capture, text, passes, compiled functions. */
final class GraphTest extends EngineTest {
  @Test
  void captureTextAndPasses() {
    Graph graph;
    try (Capture capture = dl.capture("square")) {
      Tensor x = capture.input("x", DType.F32, "[B, 2]");
      assertTrue(x.isSymbolic());
      assertEquals(-1, x.dim(0));
      assertThrows(DlcoreException.class, x::toFloatArray);
      Tensor one = capture.constant(dl.tensor(new float[] {1, 1}));
      graph = capture.end(x.multiply(x).add(x.multiply(x)).add(one));
    }
    graph.verify();
    assertEquals(graph.text(), Graph.parse(dl, graph.text()).text());
    assertTrue(graph.apply("cse").nodes() < graph.nodes());
    assertThrows(NotFoundException.class, () -> graph.apply("no such pass"));
    assertThrows(InvalidArgumentException.class, () -> Graph.parse(dl, "graph \ud83d\ude42"));
    List<Tensor> results = graph.compile().run(1, dl.tensor(new float[] {1, 2, 3, 4}, 2, 2));
    assertArrayEquals(new float[] {3, 9, 19, 33}, results.get(0).toFloatArray());
  }

  @Test
  void captureThatIsLeftIsForgotten() {
    assertThrows(
        IllegalStateException.class,
        () -> {
          try (Capture capture = dl.capture("g")) {
            capture.input("x", DType.F32, "[2]").add(1);
            throw new IllegalStateException();
          }
        });
    assertEquals(2, dl.full(2).add(1).sum().toFloat());
  }

  private float[] losses(boolean compiled) {
    try (Context mine = engine.context("cpu", 3)) {
      Module model =
          new Sequential(mine, new Linear(mine, 4, 8), new Dropout(mine), new Linear(mine, 8, 3));
      var adam = new Adam(mine, model.parameters(), 0.01);
      Function2 step =
          (x, y) -> {
            Tensor loss = mine.crossEntropy(model.call(x), y);
            loss.backward();
            adam.step();
            return loss;
          };
      Compiled fast = mine.compile(step);
      float[] losses = new float[12];
      for (int i = 0; i < losses.length; i++) {
        try (Scope scope = mine.scope()) {
          Tensor x = mine.randomNormal(i % 3 == 2 ? 2 : 5, 4);
          Tensor y = mine.randomIntegers(new long[] {x.dim(0)}, 0, 3);
          losses[i] = (compiled ? fast.run(x, y) : step.apply(x, y)).toFloat();
        }
      }
      if (compiled) {
        assertEquals(2, fast.graphs().size(), fast.explain());
        assertTrue(
            fast.explain().contains("(f32[2, 4], i64[2]; recording, training): compiled"),
            fast.explain());
      }
      return losses;
    }
  }

  @Test
  void compiledTrainingHasTheSameBits() {
    assertArrayEquals(losses(false), losses(true));
  }

  @Test
  void whatCannotBeCapturedRunsEagerly() {
    Compiled f = dl.compile(x -> x.multiply(x.sum().toFloat()));
    assertEquals("nothing has been run yet", f.explain());
    for (int i = 0; i < 2; i++) {
      assertArrayEquals(new float[] {3, 6}, f.run(dl.tensor(new float[] {1, 2})).toFloatArray());
    }
    assertTrue(f.explain().contains("runs eagerly, it cannot be captured: "), f.explain());
    assertEquals(1, f.explain().lines().count());
    Compiled wrong = dl.compile((x, y) -> x.matmul(y));
    assertThrows(InvalidArgumentException.class, () -> wrong.run(dl.full(2, 3), dl.full(2, 3)));
    Compiled two = dl.compileAll(in -> List.of(in.get(0).add(1), in.get(0).add(in.get(1))));
    assertEquals(2, two.runAll(dl.full(1), dl.full(1)).size());
    try (Mode mode = dl.inference()) {
      two.runAll(dl.full(1), dl.full(1));
    }
    assertEquals(2, two.graphs().size());
    two.close();
    two.close();
  }
}
