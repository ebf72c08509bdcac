// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.Buffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.dlcore.internal.Access;
import org.dlcore.internal.Library;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Reaper;

/**
 * The execution state of one thread of work: device, random numbers, modes, scopes. It serves one call at a time; each
 * thread opens its own. Closing it closes everything that was made on it.
 */
public final class Context extends ContextOps implements AutoCloseable {
  static {
    Library.load();
    Calls.install();
  }

  private final Engine own; // opened with this context, and closed with it
  private final Data data = new Data(this);
  private final Net net;

  /** Closes what a lost context consists of. */
  private static final class Net extends Reaper.Net {
    private final Core core;

    Net(Context context) {
      super(context);
      core = context.core;
    }

    @Override
    protected void caught() {
      Reaper.keep(this, false);
      core.close();
    }
  }

  Context(Core core, boolean ownsEngine) {
    super(core);
    own = ownsEngine ? core.engine : null;
    net = new Net(this);
    Reaper.keep(net, true);
  }

  @Override
  Context context() {
    return this;
  }

  /**
   * Opens an engine with the defaults and a context on it, with the seed 0.
   *
   * @param device a name like {@code cpu}
   * @return a context that closes its engine when it is closed
   */
  public static Context open(String device) {
    return open(device, 0);
  }

  /**
   * Opens an engine with the defaults and a context on it.
   *
   * @param device a name like {@code cpu}
   * @param seed decides every random number and initial parameter
   * @return a context that closes its engine when it is closed
   */
  public static Context open(String device, long seed) {
    Engine engine = Engine.open();
    try {
      Context opened = engine.context(device, seed);
      Reaper.keep(opened.net, false);
      return new Context(opened.core, true);
    } catch (RuntimeException error) {
      engine.close();
      throw error;
    }
  }

  /**
   * The engine it was opened on.
   *
   * @return the engine
   */
  public Engine engine() {
    return core.engine;
  }

  /**
   * The device that its ops run on.
   *
   * @return a name like {@code cpu}
   */
  public String device() {
    String[] name = new String[1];
    inside(ctx -> name[0] = Raw.dlcore_context_device(ctx));
    return name[0];
  }

  /**
   * Whether it was closed.
   *
   * @return true after {@link #close}
   */
  public boolean isClosed() {
    return core.isClosed();
  }

  /** Closes it and everything that was made on it, after the call that may be running. */
  @Override
  public void close() {
    Reaper.keep(net, false);
    core.close();
    if (own != null) {
      own.close();
    }
  }

  private interface Inside {
    void run(long ctx);
  }

  private void inside(Inside action) {
    Access.get()
        .value(
            this,
            null,
            (ctx, self) -> {
              action.run(ctx);
              return 0;
            });
  }

  /** Takes over a reference. */
  Tensor adopt(long handle) {
    core.enter();
    try {
      return made(handle);
    } finally {
      core.exit();
    }
  }

  // ---- Scopes, modes, cancellation

  /**
   * Opens a scope inside the innermost one: tensors that are made from now on belong to it.
   *
   * @return a scope to be closed
   */
  public Scope scope() {
    core.enter();
    try {
      core.scope = new Scope(this, core.scope);
      return core.scope;
    } finally {
      core.exit();
    }
  }

  /**
   * Keeps no history for gradients.
   *
   * @return a mode to be closed
   */
  public Mode noGrad() {
    return mode(true, false);
  }

  /**
   * Keeps no history, and layers behave as in use.
   *
   * @return a mode to be closed
   */
  public Mode inference() {
    return mode(true, true);
  }

  private Mode mode(boolean recording, boolean training) {
    int[] before = new int[2];
    inside(
        ctx -> {
          before[0] = recording ? Raw.dlcore_context_set_recording(ctx, 0) : -1;
          before[1] = training ? Raw.dlcore_context_set_training(ctx, 0) : -1;
        });
    return new Mode(
        () ->
            core.whenIdle(
                () -> {
                  if (before[0] >= 0) {
                    Raw.dlcore_context_set_recording(core.pointer(), before[0]);
                  }
                  if (before[1] >= 0) {
                    Raw.dlcore_context_set_training(core.pointer(), before[1]);
                  }
                }));
  }

  /**
   * Whether history for gradients is kept.
   *
   * @return true unless a mode switched it off
   */
  public boolean isRecording() {
    return Access.get().value(this, null, (ctx, self) -> Raw.dlcore_context_is_recording(ctx)) == 1;
  }

  /**
   * Whether layers behave as in training.
   *
   * @return true unless a mode switched it off
   */
  public boolean isTraining() {
    return Access.get().value(this, null, (ctx, self) -> Raw.dlcore_context_is_training(ctx)) == 1;
  }

  /**
   * From any thread: the call that runs, or else the next one, fails with {@link CancelledException}. Interrupting the
   * thread that is inside a call does the same.
   */
  public void cancel() {
    core.cancel();
  }

  /**
   * Calls fail with {@link DeadlineExceededException} once so much time has passed, until the mode is closed.
   *
   * @param limit from now on
   * @return a mode to be closed
   */
  public Mode timeout(Duration limit) {
    Access.get()
        .status(
            this,
            null,
            (ctx, self) -> Raw.dlcore_context_set_deadline(ctx, Math.max(0, limit.toMillis())));
    return new Mode(
        () -> core.whenIdle(() -> Raw.dlcore_context_set_deadline(core.pointer(), -1)));
  }

  /** Waits until the device has done everything that this context gave it, and throws its first late failure. */
  public void synchronize() {
    Access.get().status(this, null, (ctx, self) -> Raw.dlcore_context_synchronize(ctx));
  }

  // ---- Random numbers and data

  /**
   * Starts the random numbers anew; models and loaders made from now on follow from it.
   *
   * @param seed any number
   */
  public void seed(long seed) {
    Access.get().status(this, null, (ctx, self) -> Raw.dlcore_context_set_seed(ctx, seed));
  }

  /**
   * The state of the random numbers: seed, generator and number of the next call.
   *
   * @return an i64 variable of shape [3]
   */
  public Variable generator() {
    return Variable.of(
        this, Access.get().made(this, null, (ctx, self) -> Raw.dlcore_context_generator(ctx)));
  }

  /**
   * Sets of samples with labels.
   *
   * @return what opens them
   */
  public Data data() {
    return data;
  }

  // ---- Tensors from the program's data

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype f32
   */
  public Tensor tensor(float[] values) {
    return Writing.tensor(this, DType.F32, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype f32
   */
  public Tensor tensor(float[] values, long... shape) {
    return Writing.tensor(this, DType.F32, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype f64
   */
  public Tensor tensor(double[] values) {
    return Writing.tensor(this, DType.F64, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype f64
   */
  public Tensor tensor(double[] values, long... shape) {
    return Writing.tensor(this, DType.F64, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype i64
   */
  public Tensor tensor(long[] values) {
    return Writing.tensor(this, DType.I64, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype i64
   */
  public Tensor tensor(long[] values, long... shape) {
    return Writing.tensor(this, DType.I64, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype i32
   */
  public Tensor tensor(int[] values) {
    return Writing.tensor(this, DType.I32, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype i32
   */
  public Tensor tensor(int[] values, long... shape) {
    return Writing.tensor(this, DType.I32, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype bool
   */
  public Tensor tensor(boolean[] values) {
    return Writing.tensor(this, DType.BOOL, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype bool
   */
  public Tensor tensor(boolean[] values, long... shape) {
    return Writing.tensor(this, DType.BOOL, values, shape);
  }

  /**
   * A tensor with a copy of part of an array, laid out with strides: element (i, j, ...) is values[offset + i *
   * strides[0] + j * strides[1] + ...].
   *
   * @param dtype what the elements are; its size is that of the array's
   * @param values an array of a primitive type
   * @param shape its dimensions
   * @param strides in elements; 0 repeats, a negative one counts down
   * @param offset where the first element lies
   * @return the tensor
   */
  public Tensor strided(DType dtype, Object values, long[] shape, long[] strides, long offset) {
    return Writing.strided(this, dtype, values, shape, strides, offset);
  }

  /**
   * A tensor with a copy of what lies between the position and the limit of a buffer, in its byte order. The position
   * stays where it is.
   *
   * @param dtype what the elements are; the buffer is one of them or of bytes
   * @param values a direct buffer, which is fastest in the machine's order, or one of the heap
   * @param shape its dimensions
   * @return the tensor
   */
  public Tensor tensor(DType dtype, Buffer values, long... shape) {
    return Writing.tensor(this, dtype, values, shape);
  }

  /**
   * A tensor of any dtype with a copy of elements as they lie in memory, in the machine's byte order.
   *
   * @param dtype what the elements are
   * @param elements an array of a primitive type whose elements have the same size, or of bytes
   * @param shape its dimensions
   * @return the tensor
   */
  public Tensor tensor(DType dtype, Object elements, long... shape) {
    return Writing.raw(this, dtype, elements, shape);
  }

  /**
   * A scalar that takes the dtype of the tensor it meets.
   *
   * @param value a number
   * @return a weak scalar of rank 0
   */
  public Tensor scalar(double value) {
    return Access.get().tensor(this, null, (ctx, self) -> Raw.dlcore_tensor_weak_f64(ctx, value));
  }

  /**
   * A scalar that takes the dtype of the tensor it meets.
   *
   * @param value a number
   * @return a weak scalar of rank 0
   */
  public Tensor scalar(long value) {
    return Access.get().tensor(this, null, (ctx, self) -> Raw.dlcore_tensor_weak_i64(ctx, value));
  }

  /**
   * A scalar that takes the dtype of the tensor it meets.
   *
   * @param value true or false
   * @return a weak scalar of rank 0
   */
  public Tensor scalar(boolean value) {
    short number = (short) (value ? 1 : 0);
    return Access.get().tensor(this, null, (ctx, self) -> Raw.dlcore_tensor_weak_bool(ctx, number));
  }

  // ---- Gradients

  /**
   * Gradients of an output of one element.
   *
   * @param output what is differentiated
   * @param wrt leaves, or tensors on the way
   * @return a gradient for each of them
   */
  public List<Tensor> grad(Tensor output, List<Tensor> wrt) {
    return grad(List.of(output), wrt, null, new GradOptions());
  }

  /**
   * Gradients of the sum of outputs times seeds.
   *
   * @param outputs what is differentiated
   * @param wrt leaves, or tensors on the way
   * @param seeds one for each output; null, or nulls in it, for outputs of one element
   * @param options how
   * @return a gradient for each of wrt
   */
  public List<Tensor> grad(List<Tensor> outputs, List<Tensor> wrt, List<Tensor> seeds, GradOptions options) {
    return Transforms.grad(this, outputs, wrt, seeds, options);
  }

  /**
   * The gradient of a function with one element as its value.
   *
   * @param function what is differentiated
   * @param x where
   * @return the gradient, which has history of its own
   */
  public Tensor grad(Function1 function, Tensor x) {
    return valueAndGrad(inputs -> function.apply(inputs.get(0)), x).derivatives().get(0);
  }

  /**
   * A function's value, of one element, and its gradients.
   *
   * @param function what is differentiated
   * @param inputs where
   * @return value and gradients, which have history of their own
   */
  public Derivative valueAndGrad(FunctionN function, Tensor... inputs) {
    return Transforms.vjp(function, List.of(inputs), null, true);
  }

  /**
   * A function's value and the product of a seed with its Jacobian, in reverse mode.
   *
   * @param function what is differentiated
   * @param inputs where
   * @param seed of the value's shape
   * @return value and a product for each input, which have history of their own
   */
  public Derivative vjp(FunctionN function, List<Tensor> inputs, Tensor seed) {
    return Transforms.vjp(function, inputs, seed, true);
  }

  /**
   * A function's value and the product of its Jacobian with a direction, in forward mode.
   *
   * @param function what is differentiated
   * @param inputs where
   * @param tangents a direction of each input's shape
   * @return value and tangent
   */
  public Derivative jvp(FunctionN function, List<Tensor> inputs, List<Tensor> tangents) {
    return Transforms.jvp(function, inputs, tangents);
  }

  /**
   * The second derivatives of a function with one element as its value.
   *
   * @param function what is differentiated
   * @param x where
   * @return a tensor with the axes of x twice
   */
  public Tensor hessian(Function1 function, Tensor x) {
    return Transforms.hessian(function, x);
  }

  /**
   * Applies a function of single examples to many at once.
   *
   * @param function sees tensors without the axis
   * @param axis of the examples, in inputs and result
   * @param inputs all of the same size along the axis
   * @return the results, put together along the axis
   */
  public Tensor vmap(FunctionN function, long axis, Tensor... inputs) {
    return Transforms.vmap(function, axis, List.of(inputs));
  }

  /**
   * Compares derivatives with central differences.
   *
   * @param function what is checked
   * @param inputs f64 tensors
   * @param order 1, or 2 for second derivatives, too
   * @param tolerance relative to the larger of 1 and the difference; 0 for the default
   */
  public void gradcheck(FunctionN function, List<Tensor> inputs, int order, double tolerance) {
    Transforms.gradcheck(this, function, inputs, order, tolerance);
  }

  // ---- Graphs

  /**
   * Starts to capture a graph.
   *
   * @param name the graph's name
   * @return a capture to be ended or closed
   */
  public Capture capture(String name) {
    return new Capture(this, name);
  }

  /**
   * Compiles a function of one tensor.
   *
   * @param function made of calls on this context; a training step may be in it
   * @return what runs it
   */
  public Compiled compile(Function1 function) {
    return new Compiled(this, inputs -> List.of(function.apply(inputs.get(0))));
  }

  /**
   * Compiles a function of two tensors.
   *
   * @param function made of calls on this context; a training step may be in it
   * @return what runs it
   */
  public Compiled compile(Function2 function) {
    return new Compiled(this, inputs -> List.of(function.apply(inputs.get(0), inputs.get(1))));
  }

  /**
   * Compiles a function of any number of tensors and with any number of results.
   *
   * @param function made of calls on this context; a training step may be in it
   * @return what runs it
   */
  public Compiled compileAll(Function<List<Tensor>, List<Tensor>> function) {
    return new Compiled(this, function::apply);
  }

  // ---- Ops by name

  /**
   * An op by its name.
   *
   * @param name of the catalogue, or of a custom op of this engine
   * @return the op, on this context
   */
  public Op op(String name) {
    return CustomOps.find(this, name);
  }

  /**
   * Registers an op of this engine, for every context and language that shares it.
   *
   * @param name its name
   * @param inputs how many tensors it takes
   * @param outputs how many it makes
   * @param attributes how many integers it takes
   * @param op what it does
   * @return the op, on this context
   */
  public Op register(String name, int inputs, int outputs, int attributes, CustomOp op) {
    return CustomOps.register(this, name, inputs, outputs, attributes, op);
  }

  // ---- Files

  /**
   * Opens a safetensors file.
   *
   * @param path the file
   * @return its tensors
   */
  public Archive archive(Path path) {
    return Archive.open(this, path);
  }

  /**
   * Something that saves and loads a whole training.
   *
   * @return a checkpoint to which only the random numbers belong yet
   */
  public Checkpoint checkpoint() {
    return new Checkpoint(this);
  }
}
