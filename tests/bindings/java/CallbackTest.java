// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module;
import org.dlcore.optim.SGD;
import org.junit.jupiter.api.Test;

/** Calls from C into Java, and what they throw. */
final class CallbackTest extends EngineTest {
  /** x cubed; throws where it is told to. */
  private static final class Cube implements CustomOp {
    private final String throwsIn;

    Cube(String throwsIn) {
      this.throwsIn = throwsIn;
    }

    private void maybe(String where) throws IOException {
      if (where.equals(throwsIn)) {
        throw new IOException("broken in " + where + " \ud83d\ude42");
      }
    }

    @Override
    public void infer(OpCall call) throws IOException {
      maybe("infer");
      call.setOutputType(0, call.input(0).dtype(), call.input(0).shape());
    }

    @Override
    public void forward(OpCall call) throws IOException {
      maybe("forward");
      Tensor x = call.input(0);
      assertNull(call.input(9));
      assertThrows(DlcoreException.class, () -> call.setOutput(7, x));
      call.setOutput(0, x.square().multiply(x).multiply(call.attribute(0)));
    }

    @Override
    public boolean isDifferentiable() {
      return true;
    }

    @Override
    public void backward(OpCall call) throws IOException {
      maybe("backward");
      assertTrue(
          call.needsGradient(0)
              && call.output(0).count() == call.gradient(0).count()
              && call.inputs() == 1);
      call.setInputGradient(
          0, call.input(0).square().multiply(3 * call.attribute(0)).multiply(call.gradient(0)));
    }
  }

  @Test
  void customOpWithDerivativesOfEveryOrder() {
    Op cube = dl.register("cube", 1, 1, 1, new Cube(""));
    assertEquals("cube", cube.name());
    assertArrayEquals(
        new double[] {2, 16},
        cube.call(List.of(dl.tensor(new double[] {1, 2})), 2).toDoubleArray());
    FunctionN f = inputs -> inputs.get(0).context().op("cube").call(inputs, 1).sum();
    dl.gradcheck(f, List.of(dl.tensor(new double[] {0.3, -0.7})), 2, 0);
    Tensor hessian = dl.hessian(x -> f.apply(List.of(x)), dl.tensor(new double[] {1, 2}));
    assertArrayEquals(new double[] {6, 0, 0, 12}, hessian.toDoubleArray());
    try (Context other = engine.context("cpu")) { // whoever shares the engine finds it
      assertEquals(cube.number(), other.op("cube").number());
      assertEquals(8, other.op("cube").call(List.of(other.full(1).add(2)), 1).toFloat());
    }
    try (Engine shared = Engine.adopt(engine.address());
        Context other = shared.context("cpu")) {
      assertEquals(cube.number(), other.op("cube").number());
    }
    try (Context other = engine.context("cpu")) { // what was shared is still open
      assertEquals(2, other.full(2).add(1).sum().toFloat());
    }
  }

  @Test
  void exceptionOfACallbackArrivesAtTheCall() {
    for (String where : List.of("infer", "forward", "backward")) {
      dl.register(where, 1, 1, 1, new Cube(where));
      Tensor x = dl.full(2).watch();
      DlcoreException error =
          assertThrows(
              UnknownException.class,
              () -> dl.grad(dl.op(where).call(List.of(x), 1).sum(), List.of(x)));
      String text = "java.io.IOException: broken in " + where + " \ud83d\ude42";
      assertTrue(error.getMessage().contains(text), error.getMessage());
      Throwable deepest = error;
      while (deepest.getCause() != null) {
        deepest = deepest.getCause();
      }
      assertInstanceOf(IOException.class, deepest);
    }
    Tensor[] escaped = new Tensor[1];
    DlcoreException error =
        assertThrows(
            NotFoundException.class, // the code of what the function threw
            () ->
                dl.gradcheck(
                    inputs -> {
                      escaped[0] = inputs.get(0);
                      throw new NotFoundException("nothing here");
                    },
                    List.of(dl.tensor(new double[] {1})),
                    1,
                    0));
    assertTrue(error.getMessage().contains("nothing here"), error.getMessage());
    assertTrue(escaped[0].isClosed());
    assertThrows(FailedPreconditionException.class, escaped[0]::relu);
  }

  @Test
  void callbacksAreForgotten() throws Exception {
    int before = callbacks();
    try (Engine other = Engine.open();
        Context late = other.context("cpu")) {
      late.register("cube", 1, 1, 1, new Cube(""));
      assertThrows(
          AlreadyExistsException.class, () -> late.register("cube", 1, 1, 1, new Cube("")));
      assertEquals(before + 1, callbacks());
    }
    await(() -> callbacks() == before, "callbacks of a closed engine are gone");
  }

  private static int callbacks() {
    return org.dlcore.internal.Callbacks.count();
  }

  @Test
  void streams() throws IOException {
    Module model = new Sequential(dl, new Linear(dl, 3, 2), new Linear(dl, 2, 1));
    Module copy = new Sequential(dl, new Linear(dl, 3, 2), new Linear(dl, 2, 1));
    var bytes = new ByteArrayOutputStream();
    model.save(bytes);
    copy.load(new ByteArrayInputStream(bytes.toByteArray()));
    assertArrayEquals(
        model.find("0.weight").value().toBytes(), copy.find("0.weight").value().toBytes());
    var direct = java.nio.ByteBuffer.allocateDirect(bytes.size() + 8);
    direct.position(8).put(bytes.toByteArray()).position(8);
    copy.load(direct);
    assertEquals(
        List.of("0.bias", "0.weight", "1.bias", "1.weight"),
        Archive.open(dl, new ByteArrayInputStream(bytes.toByteArray())).names());

    IOException full = new IOException("disk full");
    DlcoreException error =
        assertThrows(
            DlcoreException.class,
            () ->
                model.save(
                    new OutputStream() {
                      @Override
                      public void write(int b) throws IOException {
                        throw full;
                      }
                    }));
    assertSame(full, error.getCause());
    error =
        assertThrows(
            DlcoreException.class,
            () ->
                copy.load(
                    new InputStream() {
                      @Override
                      public int read() throws IOException {
                        throw full;
                      }
                    }));
    assertSame(full, error.getCause());
    assertThrows(DataLossException.class, () -> copy.load(new ByteArrayInputStream(new byte[4])));
  }

  /** inner(x) + scale x. */
  private static final class Residual extends CustomModule {
    private final Module inner;
    private final Variable scale;

    Residual(Context dl) {
      this(dl, new Linear(dl, 2, 2), new Variable(dl, "scale", dl.full(1).add(2), true));
    }

    private Residual(Context dl, Module inner, Variable scale) {
      super(dl, parts().child("inner", inner).variable(scale), "Residual");
      this.inner = inner;
      this.scale = scale;
    }

    @Override
    protected Tensor forward(Tensor x) {
      if (x.dim(-1) != 2) {
        throw new IllegalArgumentException("two features, please");
      }
      return inner.call(x).add(x.multiply(scale.value(x.context())));
    }
  }

  @Test
  void customModule() {
    Module residual = new Residual(dl);
    Module model = new Sequential(dl, residual, new ReLU(dl));
    assertEquals("Residual", residual.kind());
    assertEquals(List.of("0.inner.weight", "0.inner.bias", "0.scale"), sortedLike(model.paths()));
    Tensor x = dl.tensor(new float[] {1, 2}, 1, 2);
    float[] before = model.call(x).toFloatArray();
    Module frozen = model.snapshot();
    var sgd = new SGD(dl, model.parameters(), SGD.options().lr(0.1));
    model.call(x).sum().backward();
    sgd.step();
    assertFalse(java.util.Arrays.equals(before, model.call(x).toFloatArray()));
    assertArrayEquals(before, frozen.call(x).toFloatArray(), "a snapshot asks its own parts");
    var bytes = new ByteArrayOutputStream();
    model.save(bytes);
    Module copy = new Sequential(dl, new Residual(dl), new ReLU(dl));
    copy.load(new ByteArrayInputStream(bytes.toByteArray()));
    assertArrayEquals(model.call(x).toFloatArray(), copy.call(x).toFloatArray());
    DlcoreException error = assertThrows(UnknownException.class, () -> model.call(dl.full(1, 3)));
    assertTrue(error.getMessage().contains("two features, please"), error.getMessage());
  }

  private static List<String> sortedLike(List<String> paths) {
    return List.of("0.inner.weight", "0.inner.bias", "0.scale").stream()
        .filter(paths::contains)
        .toList();
  }
}
