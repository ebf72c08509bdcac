// SPDX-License-Identifier: Apache-2.0
// The code that guide-java.md quotes, as one program that checks itself.
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.dlcore.*;
import org.dlcore.nn.*;
import org.dlcore.nn.Module; // java.lang has a Module, too
import org.dlcore.optim.Adam;
import org.dlcore.optim.WarmupCosine;

public final class Guide {
  private Guide() {}

  static void expect(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  static void engines() {
    try (Engine engine = Engine.open(Engine.options().threads(2).memoryLimit(1L << 30));
        Context dl = engine.context("cpu", 42)) {
      System.out.println(dl.full(2, 3).add(1));
    }
  }

  static void errors(Context dl) {
    try {
      dl.full(2, 3).matmul(dl.full(2, 3));
    } catch (InvalidArgumentException error) {
      System.out.println(error.codeName() + " in op '" + error.op() + "': " + error.getMessage());
    }
  }

  static void scopes(Context dl) {
    Tensor total = dl.full(1);
    for (int i = 0; i < 1000; i++) {
      try (Scope scope = dl.scope()) {
        Tensor next = total.add(dl.randomUniform(64).mean());
        total.close(); // early, and allowed
        total = scope.keep(next); // outlives the scope
      }
    }
    expect(total.toFloat() > 480 && total.toFloat() < 520, "scopes");
  }

  static void tensors(Context dl) {
    Tensor x = dl.tensor(new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
    Tensor t = x.permuteDims(1, 0); // a view: no element is copied
    Tensor doubled = x.multiply(2); // a number takes the tensor's dtype
    Tensor rows = x.sum(Options.sum().axes(1).keepdims(true));
    expect(t.matmul(doubled).dim(0) == 3 && rows.rank() == 2, "tensors");
    float[] back = t.toFloatArray(); // row-major, whatever the strides
    expect(back[1] == 4, "reading");

    ByteBuffer bytes = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
    bytes.putFloat(8, 1.5f).position(8); // what lies between position and limit, in its order
    expect(dl.tensor(DType.F32, bytes, 2).sum().toFloat() == 1.5f, "buffers");
  }

  static void gradients(Context dl) {
    Tensor x = dl.tensor(new double[] {1, 2, 3});
    Tensor slope = dl.grad(at -> at.square().sum(), x);
    Tensor curvature = dl.hessian(at -> at.pow(3).sum(), x);
    expect(slope.toDoubleArray()[2] == 6 && curvature.toDoubleArray()[8] == 18, "gradients");
  }

  static Module classifier(Context dl) {
    return new Sequential(
        dl, new Linear(dl, 2, 32), new Tanh(dl), new Dropout(dl, 0.1), new Linear(dl, 32, 2));
  }

  /** Points in a square, and whether they lie in a circle. */
  static Dataset circle(Context dl) {
    Tensor points = dl.randomUniform(new long[] {1000, 2}, Options.randomUniform().low(-1));
    Tensor inside = points.square().sum(Options.sum().axes(1)).less(0.5).astype(DType.I64);
    return dl.data().of(points, inside);
  }

  static float train(Context dl, Module model, Loader data, int epochs) {
    var adam = new Adam(dl, model.parameters(), Adam.options().lr(1e-2));
    float last = Float.NaN;
    for (int epoch = 0; epoch < epochs; epoch++) {
      for (Batch b : data) { // each turn is a scope: what it made goes back at the next one
        Tensor loss = dl.crossEntropy(model.call(b.x()), b.y());
        loss.backward();
        adam.step(); // uses the gradients and clears them
        last = loss.toFloat();
      }
    }
    return last;
  }

  static void schedules(Context dl, Module model, Loader data) {
    var adam = new Adam(dl, model.parameters(), Adam.options().lr(1e-2));
    var rates = new WarmupCosine(dl, adam, 5, data.batches(), WarmupCosine.options().etaMin(1e-5));
    for (Batch b : data) {
      dl.crossEntropy(model.call(b.x()), b.y()).backward();
      adam.step();
      rates.step(); // sets the rate of the next step
    }
    double rate = adam.learningRate().value().toDouble();
    expect(Math.abs(rate - 1e-5) < 1e-12 && rates.count().value().toLong() == 20, "schedules");
  }

  static double accuracy(Context dl, Module model, Loader data) {
    long right = 0;
    try (Mode mode = dl.inference()) { // no history, no dropout
      for (Batch b : data) {
        right += model.call(b.x()).argmax(1).equal(b.y()).sum().toLong();
      }
    }
    return (double) right / data.samples();
  }

  static void saving(Context dl, Module model, Path path) {
    model.save(path);
    Module copy = classifier(dl);
    copy.load(path);
    try (Archive archive = dl.archive(path)) { // any tensor of any safetensors file
      expect(archive.tensor("0.weight").dim(0) == 32, "saving");
    }
  }

  static void checkpoints(Context dl, Module model, Loader data, Path path) {
    var adam = new Adam(dl, model.parameters());
    Checkpoint checkpoint = dl.checkpoint().add("model", model).add("adam", adam).add("data", data);
    checkpoint.save(path);
    checkpoint.load(path); // as another process would that made the same objects
    expect(checkpoint.warning().isEmpty(), "checkpoints");
  }

  static float compiled(Context dl, Module model, Loader data) {
    var adam = new Adam(dl, model.parameters());
    var step =
        dl.compile(
            (x, y) -> {
              Tensor loss = dl.crossEntropy(model.call(x), y);
              loss.backward();
              adam.step();
              return loss;
            });
    float last = Float.NaN;
    for (Batch b : Progress.of(data, "compiled")) {
      last = step.run(b.x(), b.y()).toFloat(); // the bits of the calls that were captured
    }
    System.out.println(step.explain());
    return last;
  }

  static final class Residual extends CustomModule {
    private final Linear inner;

    Residual(Context dl) {
      this(dl, new Linear(dl, 2, 2));
    }

    private Residual(Context dl, Linear inner) {
      super(dl, parts().child("inner", inner));
      this.inner = inner;
    }

    @Override
    protected Tensor forward(Tensor x) {
      return inner.call(x).relu().add(x);
    }
  }

  static final class Cube implements CustomOp {
    @Override
    public void infer(OpCall call) {
      call.setOutputLike(0, call.input(0));
    }

    @Override
    public void forward(OpCall call) {
      call.setOutput(0, call.input(0).pow(3));
    }

    @Override
    public boolean isDifferentiable() {
      return true;
    }

    @Override
    public void backward(OpCall call) { // written in ops, so that it has derivatives of its own
      call.setInputGradient(0, call.input(0).square().multiply(3).multiply(call.gradient(0)));
    }
  }

  static void ownCode(Context dl) {
    Op cube = dl.register("cube", 1, 1, 0, new Cube());
    expect(cube.call(dl.full(1).add(2)).toFloat() == 8, "custom op");
    Tensor x = dl.tensor(new double[] {0.3, -0.7});
    dl.gradcheck(at -> at.get(0).context().op("cube").call(at.get(0)), List.of(x), 2, 0);
    expect(new Residual(dl).call(dl.full(4, 2)).dim(1) == 2, "custom module");
  }

  static void serve(Engine engine, Module model) {
    Module frozen = model.snapshot(); // immutable: training may go on beside it
    ThreadLocal<Context> context = ThreadLocal.withInitial(() -> engine.context("cpu"));
    ExecutorService pool = Executors.newFixedThreadPool(4);
    for (int i = 0; i < 100; i++) {
      pool.submit(
          () -> {
            Context dl = context.get();
            try (Scope scope = dl.scope()) {
              return frozen.call(dl.tensor(new float[] {0, 0}, 1, 2)).argmax(1).toLong();
            }
          });
    }
    pool.shutdown();
  }

  static void limits(Context dl) {
    try (Mode limit = dl.timeout(Duration.ofSeconds(10))) {
      dl.randomUniform(100, 100).sum();
    }
  }

  public static void main(String[] args) {
    Path folder = Path.of(args.length > 0 ? args[0] : ".");
    engines();
    try (Context dl = Context.open("cpu", 42)) {
      errors(dl);
      scopes(dl);
      tensors(dl);
      gradients(dl);
      Module model = classifier(dl);
      Loader data = circle(dl).batch(50).shuffle();
      train(dl, model, data, 30);
      expect(accuracy(dl, model, data) > 0.9, "training");
      schedules(dl, model, data);
      saving(dl, model, folder.resolve("circle.safetensors"));
      checkpoints(dl, model, data, folder.resolve("circle.checkpoint"));
      expect(compiled(dl, model, data) < 1, "compiled");
      ownCode(dl);
      serve(dl.engine(), model);
      limits(dl);
    }
  }
}
