// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.op.CrossEntropyOptions.Reduction;
import org.dlcore.optim.Adam;
import org.dlcore.optim.SGD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Modules, optimizers, checkpoints, modes, gradients. */
final class TrainingTest extends EngineTest {
  @TempDir Path folder;

  @Test
  void optimizersStepByTheirFormulas() {
    Variable w = new Variable(dl, "w", dl.tensor(new float[] {1, 2}), true);
    var sgd = new SGD(dl, List.of(w), SGD.options().lr(0.5).weightDecay(0));
    assertThrows(FailedPreconditionException.class, sgd::step);
    w.value().square().sum().backward();
    assertArrayEquals(new float[] {2, 4}, w.gradient().toFloatArray());
    assertEquals(Math.sqrt(20), sgd.clipGradients(1e9).toDouble(), 1e-6);
    sgd.stepKeep();
    assertArrayEquals(new float[] {0, 0}, w.value().toFloatArray());
    sgd.zeroGradients();
    assertNull(w.gradient());
    w.setGradient(dl.tensor(new float[] {1, 1}));
    sgd.learningRate().assign(dl.tensor(new double[] {2}, new long[0]));
    sgd.step();
    assertArrayEquals(new float[] {-2, -2}, w.value().toFloatArray());
    Variable v = new Variable(dl, "v", dl.full(1), true);
    sgd.addGroup(List.of(v), SGD.options().lr(3).momentum(0.9));
    assertEquals(3, sgd.learningRate(1).value().toDouble());
    assertThrows(OutOfRangeException.class, () -> sgd.learningRate(9));
    assertThrows(InvalidArgumentException.class, () -> sgd.addGroup(List.of(v), SGD.options()));
    w.accumulate(dl.tensor(new float[] {5, 5}));
    assertEquals(3, w.value().max().toFloat());
    w.setTrainable(false);
    assertFalse(w.isTrainable());
  }

  @Test
  void modulesListAndSwitch() {
    Module model =
        new Sequential(
            dl, new Linear(dl, 4, 3, Linear.options().bias(false)), new Dropout(dl, 0.9));
    assertEquals(List.of("0.weight"), model.paths());
    assertEquals(1, model.parameters().size());
    assertThrows(NotFoundException.class, () -> model.find("1.weight"));
    Tensor x = dl.full(64, 4).add(1);
    assertTrue(model.call(x).equal(0).any().toBoolean());
    model.train(false);
    assertFalse(model.call(x).equal(0).any().toBoolean());
    model.train(true);
    try (Mode mode = dl.inference()) {
      assertFalse(dl.isTraining() || dl.isRecording());
      assertFalse(model.call(x).requiresGrad());
      try (Mode inner = dl.noGrad()) {
        assertFalse(dl.isRecording());
      }
      assertFalse(dl.isRecording());
    }
    assertTrue(dl.isTraining() && dl.isRecording());
    assertEquals("cpu", dl.device());
    assertEquals(List.of("cpu"), engine.devices());
    assertTrue(dl.generator().value().toLongArray()[2] > 0);
  }

  /** A training that can be saved and gone on with. */
  private record Training(
      Context dl, Module model, Adam adam, Loader loader, Checkpoint checkpoint) {
    static Training start(Engine engine) {
      Context dl = engine.context("cpu", 5);
      Module model =
          new Sequential(dl, new Linear(dl, 3, 8), new Dropout(dl), new Linear(dl, 8, 2));
      Adam adam = new Adam(dl, model.parameters());
      Loader loader =
          dl.data()
              .of(dl.arange(30).astype(DType.F32).reshape(10, 3), dl.arange(10).remainder(2))
              .batch(3)
              .shuffle();
      loader.prefetch(2);
      Checkpoint checkpoint =
          dl.checkpoint().add("model", model).add("adam", adam).add("data", loader);
      return new Training(dl, model, adam, loader, checkpoint);
    }

    float[] steps(int count) {
      float[] losses = new float[count];
      for (int done = 0; done < count; ) {
        for (Batch b : loader) {
          try (b) {
            Tensor loss =
                dl.crossEntropy(
                    model.call(b.x()), b.y(), Options.crossEntropy().reduction(Reduction.SUM));
            loss.backward();
            adam.step();
            losses[done++] = loss.toFloat();
          }
          if (done == count) {
            break;
          }
        }
      }
      return losses;
    }
  }

  @Test
  void checkpointGoesOnBitByBit() {
    Path file = folder.resolve("state \ud83d\ude42");
    var stream = new ByteArrayOutputStream();
    Training one = Training.start(engine);
    one.steps(6);
    one.checkpoint.setText("note", "six");
    one.checkpoint.save(file);
    one.checkpoint.save(stream);
    float[] straight = one.steps(7);
    for (int way = 0; way < 3; way++) {
      Training two = Training.start(engine);
      switch (way) {
        case 0 -> two.checkpoint.load(file);
        case 1 -> two.checkpoint.load(new ByteArrayInputStream(stream.toByteArray()));
        default -> two.checkpoint.load(java.nio.ByteBuffer.wrap(stream.toByteArray()));
      }
      assertEquals("six", two.checkpoint.text("note"));
      assertEquals("", two.checkpoint.warning());
      assertArrayEquals(straight, two.steps(7));
      two.dl.close();
    }
    assertThrows(AlreadyExistsException.class, () -> one.checkpoint.add("model", one.model));
    one.dl.close();
  }

  @Test
  void archives() {
    Path file = folder.resolve("a.safetensors");
    Archive.save(dl, file, Map.of("x", dl.arange(3), "y", dl.full(2, 2)));
    Archive archive = dl.archive(file);
    assertEquals(List.of("x", "y"), archive.names());
    assertArrayEquals(new long[] {0, 1, 2}, archive.tensor("x").toLongArray());
    assertThrows(NotFoundException.class, () -> archive.tensor("z"));
  }

  @Test
  void transforms() {
    Tensor x = dl.tensor(new double[] {1, 2, 3});
    FunctionN square = in -> in.get(0).square().sum();
    assertArrayEquals(new double[] {2, 4, 6}, dl.grad(t -> t.square().sum(), x).toDoubleArray());
    Derivative both = dl.valueAndGrad(in -> in.get(0).multiply(in.get(1)).sum(), x, x.add(1));
    assertEquals(20, both.value().toDouble());
    assertArrayEquals(new double[] {1, 2, 3}, both.derivatives().get(1).toDoubleArray());
    Derivative vjp =
        dl.vjp(in -> in.get(0).square(), List.of(x), dl.tensor(new double[] {1, 0, 2}));
    assertArrayEquals(new double[] {2, 0, 12}, vjp.derivatives().get(0).toDoubleArray());
    Derivative jvp = dl.jvp(square, List.of(x), List.of(dl.tensor(new double[] {1, 0, 1})));
    assertEquals(14, jvp.value().toDouble());
    assertEquals(8, jvp.derivatives().get(0).toDouble());
    assertArrayEquals(
        new double[] {6, 0, 0, 0, 12, 0, 0, 0, 18},
        dl.hessian(t -> t.pow(3).sum(), x).toDoubleArray());
    Tensor rows = dl.arange(6).astype(DType.F64).reshape(2, 3);
    assertArrayEquals(new double[] {5, 50}, dl.vmap(square, 0, rows).toDoubleArray());
    assertArrayEquals(
        new double[] {0, 0, 0}, dl.grad(t -> dl.full(1).watch().sum(), x).toDoubleArray());
    Tensor leaf = x.watch();
    Tensor used = leaf.square().sum();
    List<Tensor> first =
        dl.grad(List.of(used), List.of(leaf), null, new GradOptions().createGraph(true));
    assertArrayEquals(
        new double[] {2, 2, 2}, dl.grad(first.get(0).sum(), List.of(leaf)).get(0).toDoubleArray());
    assertThrows(
        FailedPreconditionException.class,
        () -> dl.gradcheck(in -> in.get(0).stopGradient().multiply(in.get(0)), List.of(x), 1, 0));
  }

  @Test
  void loadersSeekAndCount() {
    Loader loader = dl.data().of(dl.arange(10), dl.arange(10)).batch(4);
    assertEquals(10, loader.samples());
    assertEquals(3, loader.batches());
    assertThrows(FailedPreconditionException.class, loader::shuffle);
    loader.seek(1, 2);
    assertEquals(1, loader.epoch());
    for (Batch b : loader) {
      assertArrayEquals(new long[] {8, 9}, b.y().toLongArray());
    }
    assertEquals(3, count(loader));
    assertThrows(
        NotFoundException.class,
        () -> {
          dl.data().setDirectory(folder.resolve("nothing"));
          dl.data().idx(folder, "train").batch(1).open();
        });
    assertThrows(
        java.util.NoSuchElementException.class,
        () -> {
          var iterator = loader.iterator();
          while (true) {
            iterator.next();
          }
        });
  }

  private static int count(Loader loader) {
    int turns = 0;
    for (Batch b : loader) {
      turns++;
    }
    return turns;
  }
}
