// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.IntToDoubleFunction;
import org.dlcore.Context;
import org.dlcore.DType;
import org.dlcore.Tensor;

/** Elements in row-major order, as they are stored. */
record Elements(DType dtype, long[] shape, byte[] bytes) {
  static Elements of(Tensor tensor) {
    return new Elements(tensor.dtype(), tensor.shape(), tensor.toBytes());
  }

  Tensor tensor(Context dl) {
    return dl.tensor(dtype, bytes, shape);
  }

  int count() {
    return bytes.length / dtype.bytes();
  }

  boolean isFloating() {
    return switch (dtype) {
      case F16, BF16, F32, F64 -> true;
      default -> false;
    };
  }

  private ByteBuffer buffer() {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  long integer(int i) {
    return switch (dtype) {
      case BOOL, U8 -> bytes[i] & 0xff;
      case I8 -> bytes[i];
      case I16 -> buffer().getShort(2 * i);
      case I32 -> buffer().getInt(4 * i);
      default -> buffer().getLong(8 * i);
    };
  }

  double real(int i) {
    return switch (dtype) {
      case F32 -> buffer().getFloat(4 * i);
      case F64 -> buffer().getDouble(8 * i);
      case F16 -> decode(buffer().getShort(2 * i) & 0xffff, 10);
      case BF16 -> decode(buffer().getShort(2 * i) & 0xffff, 7);
      default -> integer(i);
    };
  }

  double[] reals() {
    double[] values = new double[count()];
    Arrays.setAll(values, this::real);
    return values;
  }

  /** A binary float of so many explicit bits of mantissa, the rest exponent, in 16 bits. */
  private static double decode(int bits, int mantissa) {
    int top = (1 << (15 - mantissa)) - 1;
    int bias = top >> 1;
    int exponent = (bits >> mantissa) & top;
    int fraction = bits & ((1 << mantissa) - 1);
    double value;
    if (exponent == top) {
      value = fraction != 0 ? Double.NaN : Double.POSITIVE_INFINITY;
    } else if (exponent == 0) {
      value = Math.scalb((double) fraction, 1 - bias - mantissa);
    } else {
      value = Math.scalb((double) (fraction + (1 << mantissa)), exponent - bias - mantissa);
    }
    return bits >> 15 != 0 ? -value : value;
  }

  /** The reverse, to nearest even. */
  private static short encode(double value, int mantissa) {
    int top = (1 << (15 - mantissa)) - 1;
    int bias = top / 2;
    int sign = Double.doubleToRawLongBits(value) < 0 ? 0x8000 : 0;
    if (Double.isNaN(value)) {
      return (short) ((top << mantissa) + 1);
    }
    double size = Math.abs(value);
    if (Double.isInfinite(size)) {
      return (short) (sign + (top << mantissa));
    }
    int exponent = size == 0 ? 1 - bias : Math.max(Math.getExponent(size), 1 - bias);
    double units = Math.rint(Math.scalb(size, mantissa - exponent));
    double bits = Math.scalb((double) (exponent - 1 + bias), mantissa) + units; // a carry is right
    return (short) (sign + Math.min((int) bits, top << mantissa));
  }

  /** Elements of a floating dtype, rounded to nearest even. */
  static Elements rounded(DType dtype, long[] shape, int count, IntToDoubleFunction value) {
    ByteBuffer buffer = ByteBuffer.allocate(count * dtype.bytes()).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      double number = value.applyAsDouble(i);
      switch (dtype) {
        case F64 -> buffer.putDouble(number);
        case F32 -> buffer.putFloat((float) number);
        default -> buffer.putShort(encode(number, dtype == DType.F16 ? 10 : 7));
      }
    }
    return new Elements(dtype, shape, buffer.array());
  }
}
