// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.Buffer;
import java.util.Arrays;
import org.dlcore.internal.Access;
import org.dlcore.internal.Library;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/**
 * An immutable array of one dtype. Ops on it run on its context.
 *
 * <p>A tensor that is made while a {@link Scope} is open belongs to it. Any other one is to be
 * closed, or goes back when its context is closed, or at last when the collector finds it.
 */
public final class Tensor extends TensorOps implements AutoCloseable {
  /** What stands for an absent operand. */
  static final Tensor NONE;

  static {
    Library.load();
    NONE = new Tensor(null, Raw.dlcore_tensor_none());
  }

  // Of whoever is inside the context.
  long handle; // 0: closed
  Scope scope; // that owns it
  int slot; // in that scope
  TensorNet.Node node; // when no scope owns it
  private TensorInfo info;

  Tensor(Context context, long handle) {
    super(context);
    this.handle = handle;
  }

  @Override
  Tensor self() {
    return this;
  }

  /**
   * The context that ops on it run on.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  /**
   * The same values for another context of the same engine, on whatever thread that is.
   *
   * @param other the context that ops on the result run on
   * @return a tensor to be closed apart from this one
   */
  public Tensor on(Context other) {
    long shared = context.core.retained(this);
    boolean adopted = false;
    try {
      Tensor tensor = other.adopt(shared);
      adopted = true;
      return tensor;
    } finally {
      if (!adopted) {
        Raw.dlcore_tensor_release(shared);
      }
    }
  }

  /**
   * The same values on another device of the engine.
   *
   * @param device a name like {@code cpu}
   * @return this tensor's values there
   */
  public Tensor to(String device) {
    return Access.get()
        .tensor(
            context,
            null,
            (ctx, self) -> Raw.dlcore_tensor_to_device(ctx, context.handle(this), device));
  }

  /** Gives it back; closing it again does nothing. */
  @Override
  public void close() {
    context.core.close(this);
  }

  /**
   * Whether it was given back.
   *
   * @return true once it, its scope or its context is closed
   */
  public boolean isClosed() {
    return handle == 0 || context.core.isClosed();
  }

  // ---- What it is

  private TensorInfo info() {
    if (info == null || handle == 0) {
      info = TensorInfo.of(this);
    }
    return info;
  }

  /**
   * What its elements are.
   *
   * @return the dtype
   */
  public DType dtype() {
    return info().dtype;
  }

  /**
   * Its dimensions.
   *
   * @return a new array; -1 stands for a symbolic dimension
   */
  public long[] shape() {
    return info().shape.clone();
  }

  /**
   * How far apart neighbours lie along each axis, in elements.
   *
   * @return a new array
   */
  public long[] strides() {
    return info().strides.clone();
  }

  /**
   * The number of its axes.
   *
   * @return 0 to 16
   */
  public int rank() {
    return info().shape.length;
  }

  /**
   * The dimension of an axis.
   *
   * @param axis counted from the end when negative
   * @return the dimension
   */
  public long dim(int axis) {
    long[] shape = info().shape;
    int at = axis < 0 ? axis + shape.length : axis;
    if (at < 0 || at >= shape.length) {
      throw new OutOfRangeException(
          "dim: there is no such axis: axis is " + axis + ", expected less than " + shape.length);
    }
    return shape[at];
  }

  /**
   * The number of its elements.
   *
   * @return the product of the shape; -1 when that is symbolic
   */
  public long count() {
    return info().count;
  }

  /**
   * The device that holds it.
   *
   * @return a name like {@code cpu}
   */
  public String device() {
    return info().device;
  }

  /**
   * Whether it is a scalar that takes the dtype of what it meets.
   *
   * @return true for a weak scalar
   */
  public boolean isWeak() {
    return info().weak;
  }

  /**
   * Whether its elements lie in row-major order without gaps.
   *
   * @return true for a contiguous tensor
   */
  public boolean isContiguous() {
    return info().contiguous;
  }

  /**
   * Whether it has history, or is a leaf.
   *
   * @return true when gradients can be asked for
   */
  public boolean requiresGrad() {
    return info().requiresGrad;
  }

  /**
   * Whether it is a value of a graph being captured, which has no elements.
   *
   * @return true while capturing
   */
  public boolean isSymbolic() {
    return info().symbolic;
  }

  // ---- Its elements

  /**
   * The only element, of a dtype that a float holds exactly: f32, f16 or bf16.
   *
   * @return the element
   */
  public float toFloat() {
    return Reading.floats(single("toFloat"))[0];
  }

  /**
   * The only element of a floating dtype.
   *
   * @return the element
   */
  public double toDouble() {
    return Reading.doubles(single("toDouble"))[0];
  }

  /**
   * The only element of an integer dtype, or 0 or 1 of a boolean one.
   *
   * @return the element
   */
  public long toLong() {
    return Reading.longs(single("toLong"))[0];
  }

  /**
   * The only element of a boolean tensor.
   *
   * @return the element
   */
  public boolean toBoolean() {
    return Reading.booleans(single("toBoolean"))[0];
  }

  private Tensor single(String what) {
    if (count() != 1) {
      throw new InvalidArgumentException(
          what
              + ": there is not one element: the shape is "
              + Arrays.toString(shape())
              + ", expected one element");
    }
    return this;
  }

  /**
   * All elements in row-major order, of a dtype that a float holds exactly: f32, f16 or bf16.
   *
   * @return a new array
   */
  public float[] toFloatArray() {
    return Reading.floats(this);
  }

  /**
   * All elements in row-major order, of a floating dtype.
   *
   * @return a new array
   */
  public double[] toDoubleArray() {
    return Reading.doubles(this);
  }

  /**
   * All elements in row-major order, of an integer or boolean dtype.
   *
   * @return a new array
   */
  public long[] toLongArray() {
    return Reading.longs(this);
  }

  /**
   * All elements in row-major order, of an integer or boolean dtype that an int holds: all but i64.
   *
   * @return a new array
   */
  public int[] toIntArray() {
    return Reading.ints(this);
  }

  /**
   * All elements in row-major order, of a boolean tensor.
   *
   * @return a new array
   */
  public boolean[] toBooleanArray() {
    return Reading.booleans(this);
  }

  /**
   * All elements in row-major order, as they lie in memory in the machine's byte order.
   *
   * @return a new array
   */
  public byte[] toBytes() {
    return Reading.bytes(this);
  }

  /**
   * Copies all elements, in row-major order, to between the position and the limit of a buffer, in
   * its byte order. The position stays where it is.
   *
   * @param target a buffer with exactly that room: of bytes, or of this dtype's elements
   */
  public void read(Buffer target) {
    Reading.into(this, target);
  }

  /**
   * The elements for another library of this process, by DLPack.
   *
   * @param copy true gives it elements of its own, which may be written to; false shares them,
   *     read-only
   * @return the address of a DLManagedTensorVersioned, which whoever takes it gives back by its
   *     deleter
   */
  public long toDlpack(boolean copy) {
    int flags = copy ? Raw.DLCORE_DLPACK_COPY : 0;
    try (Memory result = Memory.of(0)) {
      Access.get()
          .status(
              context,
              null,
              (ctx, self) ->
                  Raw.dlcore_tensor_to_dlpack(ctx, context.handle(this), flags, result.address()));
      return result.longs()[0];
    }
  }

  // ---- Gradients

  /**
   * Adds the gradients of this one element to those of the variables it depends on, and frees the
   * history.
   */
  public void backward() {
    Access.get()
        .status(context, null, (ctx, self) -> Raw.dlcore_backward(ctx, context.handle(this)));
  }

  /**
   * A leaf with the same values: gradients with respect to it can be asked for.
   *
   * @return the leaf
   */
  public Tensor watch() {
    return Access.get()
        .tensor(context, null, (ctx, self) -> Raw.dlcore_autograd_watch(ctx, context.handle(this)));
  }

  /**
   * Dtype, shape, device and the first elements.
   *
   * @return text for people
   */
  @Override
  public String toString() {
    if (isClosed()) {
      return "Tensor(closed)";
    }
    return Access.get()
        .text(
            context,
            null,
            (ctx, self, buffer, size) ->
                Raw.dlcore_tensor_to_string(ctx, context.handle(this), buffer, size));
  }
}
