// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import org.dlcore.internal.Native;

/**
 * Buffers of any kind, between position and limit, in their byte order; their positions are never
 * moved.
 */
final class Buffers {
  private Buffers() {}

  /** Bytes of an element of the buffer. */
  static int unit(Buffer buffer) {
    if (buffer instanceof ByteBuffer) {
      return 1;
    }
    if (buffer instanceof ShortBuffer) {
      return 2;
    }
    if (buffer instanceof IntBuffer || buffer instanceof FloatBuffer) {
      return 4;
    }
    if (buffer instanceof LongBuffer || buffer instanceof DoubleBuffer) {
      return 8;
    }
    throw new InvalidArgumentException(
        "tensor: there is no dtype for the elements of a " + buffer.getClass().getSimpleName());
  }

  static long bytes(Buffer buffer) {
    return (long) buffer.remaining() * unit(buffer);
  }

  /** Elements cross as what they are, or as bytes. */
  static void check(String what, Buffer buffer, DType dtype) {
    boolean fits =
        switch (dtype) {
          case F32 -> buffer instanceof FloatBuffer;
          case F64 -> buffer instanceof DoubleBuffer;
          case I64 -> buffer instanceof LongBuffer;
          case I32 -> buffer instanceof IntBuffer;
          case I16, F16, BF16 -> buffer instanceof ShortBuffer;
          default -> false;
        };
    if (!fits && !(buffer instanceof ByteBuffer)) {
      throw new InvalidArgumentException(
          what
              + ": elements of another type: the buffer is a "
              + buffer.getClass().getSimpleName()
              + ", expected one of "
              + dtype
              + " or of bytes");
    }
  }

  /** Where its elements lie, when C can read and write them as they are; else 0. */
  static long address(Buffer buffer, int elementBytes) {
    boolean plain = elementBytes == 1 || order(buffer) == ByteOrder.nativeOrder();
    if (!buffer.isDirect() || !plain) {
      return 0;
    }
    long start = Native.address(buffer);
    return start == 0 ? 0 : start + (long) buffer.position() * unit(buffer);
  }

  private static ByteOrder order(Buffer buffer) {
    if (buffer instanceof ByteBuffer b) {
      return b.order();
    }
    if (buffer instanceof ShortBuffer b) {
      return b.order();
    }
    if (buffer instanceof IntBuffer b) {
      return b.order();
    }
    if (buffer instanceof LongBuffer b) {
      return b.order();
    }
    return buffer instanceof FloatBuffer b ? b.order() : ((DoubleBuffer) buffer).order();
  }

  /** Copies what a buffer holds to memory in the machine's order. */
  static void get(Buffer source, ByteBuffer memory, int elementBytes) {
    if (source instanceof ByteBuffer b) {
      copy(b.duplicate().order(b.order()), memory, elementBytes);
    } else if (source instanceof ShortBuffer b) {
      memory.asShortBuffer().put(b.duplicate());
    } else if (source instanceof IntBuffer b) {
      memory.asIntBuffer().put(b.duplicate());
    } else if (source instanceof LongBuffer b) {
      memory.asLongBuffer().put(b.duplicate());
    } else if (source instanceof FloatBuffer b) {
      memory.asFloatBuffer().put(b.duplicate());
    } else {
      memory.asDoubleBuffer().put(((DoubleBuffer) source).duplicate());
    }
  }

  /** Copies memory in the machine's order to a buffer. */
  static void put(ByteBuffer memory, Buffer target, int elementBytes) {
    if (target instanceof ByteBuffer b) {
      copy(memory, b.duplicate().order(b.order()), elementBytes);
    } else if (target instanceof ShortBuffer b) {
      b.duplicate().put(memory.asShortBuffer());
    } else if (target instanceof IntBuffer b) {
      b.duplicate().put(memory.asIntBuffer());
    } else if (target instanceof LongBuffer b) {
      b.duplicate().put(memory.asLongBuffer());
    } else if (target instanceof FloatBuffer b) {
      b.duplicate().put(memory.asFloatBuffer());
    } else {
      ((DoubleBuffer) target).duplicate().put(memory.asDoubleBuffer());
    }
  }

  /** Between buffers of bytes whose orders may differ: as elements, so that the library swaps. */
  private static void copy(ByteBuffer source, ByteBuffer target, int elementBytes) {
    switch (elementBytes) {
      case 2 -> target.asShortBuffer().put(source.asShortBuffer());
      case 4 -> target.asIntBuffer().put(source.asIntBuffer());
      case 8 -> target.asLongBuffer().put(source.asLongBuffer());
      default -> target.put(source);
    }
  }
}
