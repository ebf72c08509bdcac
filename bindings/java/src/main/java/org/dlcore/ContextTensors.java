// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.Buffer;
import org.dlcore.internal.Access;
import org.dlcore.internal.Raw;

/** Methods of {@link Context} that make tensors of the program's own data. */
public abstract class ContextTensors extends ContextOps {
  ContextTensors(Core core) {
    super(core);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype f32
   */
  public Tensor tensor(float[] values) {
    return Writing.tensor(context(), DType.F32, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype f32
   */
  public Tensor tensor(float[] values, long... shape) {
    return Writing.tensor(context(), DType.F32, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype f64
   */
  public Tensor tensor(double[] values) {
    return Writing.tensor(context(), DType.F64, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype f64
   */
  public Tensor tensor(double[] values, long... shape) {
    return Writing.tensor(context(), DType.F64, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype i64
   */
  public Tensor tensor(long[] values) {
    return Writing.tensor(context(), DType.I64, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype i64
   */
  public Tensor tensor(long[] values, long... shape) {
    return Writing.tensor(context(), DType.I64, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype i32
   */
  public Tensor tensor(int[] values) {
    return Writing.tensor(context(), DType.I32, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype i32
   */
  public Tensor tensor(int[] values, long... shape) {
    return Writing.tensor(context(), DType.I32, values, shape);
  }

  /**
   * A tensor of one axis with a copy of an array.
   *
   * @param values the elements
   * @return a tensor of dtype bool
   */
  public Tensor tensor(boolean[] values) {
    return Writing.tensor(context(), DType.BOOL, values, null);
  }

  /**
   * A tensor with a copy of an array.
   *
   * @param values the elements in row-major order
   * @param shape its dimensions; an empty one makes a scalar
   * @return a tensor of dtype bool
   */
  public Tensor tensor(boolean[] values, long... shape) {
    return Writing.tensor(context(), DType.BOOL, values, shape);
  }

  /**
   * A tensor with a copy of part of an array, laid out with strides: element (i, j, ...) is
   * values[offset + i * strides[0] + j * strides[1] + ...].
   *
   * @param dtype what the elements are; its size is that of the array's
   * @param values an array of a primitive type
   * @param shape its dimensions
   * @param strides in elements; 0 repeats, a negative one counts down
   * @param offset where the first element lies
   * @return the tensor
   */
  public Tensor strided(DType dtype, Object values, long[] shape, long[] strides, long offset) {
    return Writing.strided(context(), dtype, values, shape, strides, offset);
  }

  /**
   * A tensor with a copy of what lies between the position and the limit of a buffer, in its byte
   * order. The position stays where it is.
   *
   * @param dtype what the elements are; the buffer is one of them or of bytes
   * @param values a direct buffer, which is fastest in the machine's order, or one of the heap
   * @param shape its dimensions
   * @return the tensor
   */
  public Tensor tensor(DType dtype, Buffer values, long... shape) {
    return Writing.tensor(context(), dtype, values, shape);
  }

  /**
   * A tensor of any dtype with a copy of elements as they lie in memory, in the machine's byte
   * order.
   *
   * @param dtype what the elements are
   * @param elements an array of a primitive type whose elements have the same size, or of bytes
   * @param shape its dimensions
   * @return the tensor
   */
  public Tensor tensor(DType dtype, Object elements, long... shape) {
    return Writing.raw(context(), dtype, elements, shape);
  }

  /**
   * A scalar that takes the dtype of the tensor it meets.
   *
   * @param value a number
   * @return a weak scalar of rank 0
   */
  public Tensor scalar(double value) {
    return Access.get()
        .tensor(context(), null, (ctx, self) -> Raw.dlcore_tensor_weak_f64(ctx, value));
  }

  /**
   * A scalar that takes the dtype of the tensor it meets.
   *
   * @param value a number
   * @return a weak scalar of rank 0
   */
  public Tensor scalar(long value) {
    return Access.get()
        .tensor(context(), null, (ctx, self) -> Raw.dlcore_tensor_weak_i64(ctx, value));
  }

  /**
   * A scalar that takes the dtype of the tensor it meets.
   *
   * @param value true or false
   * @return a weak scalar of rank 0
   */
  public Tensor scalar(boolean value) {
    short number = (short) (value ? 1 : 0);
    return Access.get()
        .tensor(context(), null, (ctx, self) -> Raw.dlcore_tensor_weak_bool(ctx, number));
  }

  /**
   * A tensor with the elements that another library of context() process has, by DLPack.
   *
   * @param address of a DLManagedTensorVersioned, which is taken over
   * @param borrow true shares the elements, which nobody may write to from now on; false copies
   *     them
   * @return the tensor
   */
  public Tensor fromDlpack(long address, boolean borrow) {
    int flags = borrow ? Raw.DLCORE_DLPACK_BORROW : 0;
    return Access.get()
        .tensor(context(), null, (ctx, self) -> Raw.dlcore_tensor_from_dlpack(ctx, address, flags));
  }
}
