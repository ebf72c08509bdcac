// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.lang.reflect.Array;
import java.nio.Buffer;
import org.dlcore.internal.Access;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/** Elements of tensors, on their way in. */
final class Writing {
  private Writing() {}

  static Tensor tensor(Context dl, DType dtype, Object array, long[] shape) {
    if (array == null) {
      throw new InvalidArgumentException("tensor: the array is null");
    }
    int count = Array.getLength(array);
    try (Memory memory = new Memory((long) count * elementBytes(array))) {
      Memory.store(array, 0, count, memory.address());
      long[] dims = shape == null ? new long[] {count} : shape;
      return create(dl, dtype, dims, memory.address(), (long) count * elementBytes(array));
    }
  }

  static Tensor raw(Context dl, DType dtype, Object array, long[] shape) {
    if (array instanceof Buffer buffer) {
      return tensor(dl, dtype, buffer, shape);
    }
    if (array == null
        || !array.getClass().isArray()
        || !array.getClass().getComponentType().isPrimitive()) {
      throw new InvalidArgumentException(
          "tensor: elements come in an array of a primitive type or in a buffer: got "
              + (array == null ? "null" : array.getClass().getTypeName()));
    }
    int unit = elementBytes(array);
    if (array instanceof char[] || unit != dtype.bytes() && !(array instanceof byte[])) {
      throw new InvalidArgumentException(
          "tensor: elements have another size: the array is a "
              + array.getClass().getSimpleName()
              + ", expected one of "
              + dtype.bytes()
              + " bytes each, for "
              + dtype);
    }
    return tensor(dl, dtype, array, shape);
  }

  static Tensor tensor(Context dl, DType dtype, Buffer buffer, long[] shape) {
    if (buffer == null) {
      throw new InvalidArgumentException("tensor: the buffer is null");
    }
    Buffers.check("tensor", buffer, dtype);
    long bytes = Buffers.bytes(buffer);
    long address = Buffers.address(buffer, dtype.bytes());
    if (address != 0) {
      Tensor made = create(dl, dtype, shape, address, bytes);
      java.lang.ref.Reference.reachabilityFence(buffer);
      return made;
    }
    try (Memory memory = new Memory(bytes)) {
      Buffers.get(buffer, memory.buffer(), dtype.bytes());
      return create(dl, dtype, shape, memory.address(), bytes);
    }
  }

  static Tensor strided(
      Context dl, DType dtype, Object array, long[] shape, long[] strides, long offset) {
    int count = Array.getLength(array);
    int unit = elementBytes(array);
    if (unit != dtype.bytes()) {
      throw new InvalidArgumentException(
          "strided: elements have another size: the array is a "
              + array.getClass().getSimpleName()
              + ", expected one of "
              + dtype.bytes()
              + " bytes each, for "
              + dtype);
    }
    if (shape.length != strides.length) {
      throw new InvalidArgumentException(
          "strided: each axis has a stride: strides are "
              + strides.length
              + ", expected "
              + shape.length);
    }
    try (Memory memory = new Memory((long) count * unit)) {
      Memory.store(array, 0, count, memory.address());
      return Access.get()
          .tensor(
              dl,
              null,
              (ctx, self) -> {
                long dims = dl.core.reserve(shape.length + strides.length);
                dl.core.longs(shape, shape.length, 0);
                long steps = dl.core.longs(strides, strides.length, shape.length);
                return Raw.dlcore_tensor_create_strided(
                    ctx,
                    dtype.number(),
                    dims,
                    steps,
                    shape.length,
                    memory.address(),
                    count,
                    offset);
              });
    }
  }

  private static Tensor create(Context dl, DType dtype, long[] shape, long address, long bytes) {
    return Access.get()
        .tensor(
            dl,
            null,
            (ctx, self) ->
                Raw.dlcore_tensor_create(
                    ctx,
                    dtype.number(),
                    dl.core.longs(shape, shape.length, 0),
                    shape.length,
                    address,
                    bytes));
  }

  private static int elementBytes(Object array) {
    if (array instanceof double[] || array instanceof long[]) {
      return 8;
    }
    if (array instanceof float[] || array instanceof int[]) {
      return 4;
    }
    return array instanceof short[] || array instanceof char[] ? 2 : 1;
  }
}
