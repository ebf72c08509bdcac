// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.lang.reflect.Array;
import java.nio.Buffer;
import org.dlcore.internal.Access;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/** Elements of tensors, on their way out. */
final class Reading {
  private static final int SMALL = 4096; // bytes that go through the context's scratch memory

  private Reading() {}

  static float[] floats(Tensor x) {
    return switch (x.dtype()) {
      case F32 -> array(x, new float[length(x)]);
      case F16, BF16 -> {
        try (Tensor exact = x.stopGradient().astype(DType.F32)) {
          yield array(exact, new float[length(x)]);
        }
      }
      default -> throw refuse("float", x, "f32, f16 or bf16");
    };
  }

  static double[] doubles(Tensor x) {
    if (x.dtype() == DType.F64) {
      return array(x, new double[length(x)]);
    }
    if (!isFloating(x.dtype())) {
      throw refuse("double", x, "a floating dtype");
    }
    float[] values = floats(x);
    double[] widened = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      widened[i] = values[i];
    }
    return widened;
  }

  static long[] longs(Tensor x) {
    if (x.dtype() == DType.I64) {
      return array(x, new long[length(x)]);
    }
    if (isFloating(x.dtype())) {
      throw refuse("long", x, "an integer or boolean dtype");
    }
    int[] values = ints(x);
    long[] widened = new long[values.length];
    for (int i = 0; i < values.length; i++) {
      widened[i] = values[i];
    }
    return widened;
  }

  static int[] ints(Tensor x) {
    int[] widened = new int[length(x)];
    switch (x.dtype()) {
      case I32 -> array(x, widened);
      case I16 -> {
        short[] values = array(x, new short[widened.length]);
        for (int i = 0; i < values.length; i++) {
          widened[i] = values[i];
        }
      }
      case I8, U8, BOOL -> {
        byte[] values = bytes(x);
        int mask = x.dtype() == DType.I8 ? -1 : 0xff;
        for (int i = 0; i < values.length; i++) {
          widened[i] = values[i] & mask;
        }
      }
      default -> throw refuse("int", x, "i32, i16, i8, u8 or bool");
    }
    return widened;
  }

  static boolean[] booleans(Tensor x) {
    if (x.dtype() != DType.BOOL) {
      throw refuse("boolean", x, "bool");
    }
    return array(x, new boolean[length(x)]);
  }

  static byte[] bytes(Tensor x) {
    return array(x, new byte[Math.multiplyExact(length(x), x.dtype().bytes())]);
  }

  private static boolean isFloating(DType dtype) {
    return switch (dtype) {
      case F16, BF16, F32, F64 -> true;
      default -> false;
    };
  }

  private static InvalidArgumentException refuse(String type, Tensor x, String expected) {
    return new InvalidArgumentException(
        "read: elements do not fit "
            + type
            + ": dtype is "
            + x.dtype()
            + ", expected "
            + expected
            + "; convert with astype");
  }

  private static int length(Tensor x) {
    long count = x.count();
    if (count > Integer.MAX_VALUE - 8) {
      throw new OutOfRangeException("read: no array is that long: count is " + count);
    }
    return (int) Math.max(count, 0); // a symbolic tensor is refused by the call
  }

  private static <A> A array(Tensor x, A target) {
    Context dl = x.context;
    long bytes = (long) Array.getLength(target) * elementBytes(target);
    int dtype = x.dtype().number();
    Access.get()
        .status(
            dl,
            null,
            (ctx, self) -> {
              long handle = dl.handle(x);
              if (bytes <= SMALL) {
                return read(ctx, handle, dtype, dl.core.reserve(SMALL / 8), bytes, target);
              }
              try (Memory memory = new Memory(bytes)) {
                return read(ctx, handle, dtype, memory.address(), bytes, target);
              }
            });
    return target;
  }

  private static int read(
      long ctx, long handle, int dtype, long address, long bytes, Object target) {
    int status = Raw.dlcore_tensor_read(ctx, handle, dtype, address, bytes);
    if (status == 0) {
      Memory.load(target, address);
    }
    return status;
  }

  private static int elementBytes(Object array) {
    if (array instanceof double[] || array instanceof long[]) {
      return 8;
    }
    if (array instanceof float[] || array instanceof int[]) {
      return 4;
    }
    return array instanceof short[] ? 2 : 1;
  }

  static void into(Tensor x, Buffer target) {
    if (target.isReadOnly()) {
      throw new InvalidArgumentException("read: the buffer is read-only");
    }
    Buffers.check("read", target, x.dtype());
    long bytes = Buffers.bytes(target);
    long expected = Math.max(x.count(), 0) * x.dtype().bytes();
    if (bytes != expected) {
      throw new InvalidArgumentException(
          "read: the buffer has another size: it holds " + bytes + " bytes, expected " + expected);
    }
    Context dl = x.context;
    int dtype = x.dtype().number();
    int unit = x.dtype().bytes();
    Access.get()
        .status(
            dl,
            null,
            (ctx, self) -> {
              long handle = dl.handle(x);
              long address = Buffers.address(target, unit);
              if (address != 0) {
                return Raw.dlcore_tensor_read(ctx, handle, dtype, address, bytes);
              }
              try (Memory memory = new Memory(bytes)) {
                int status = Raw.dlcore_tensor_read(ctx, handle, dtype, memory.address(), bytes);
                if (status == 0) {
                  Buffers.put(memory.buffer(), target, unit);
                }
                return status;
              }
            });
  }
}
