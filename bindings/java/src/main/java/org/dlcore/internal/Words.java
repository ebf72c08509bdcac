// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.dlcore.DType;
import org.dlcore.InvalidArgumentException;

/** Packed attributes, as the C API describes them. */
public final class Words {
  private long[] words;
  private int count;

  public Words(int capacity) {
    words = new long[capacity];
  }

  /** Words that are packed already. */
  public Words(long... packed) {
    words = packed;
    count = packed.length;
  }

  public int count() {
    return count;
  }

  public long[] array() {
    return words;
  }

  /** The words where C can read them. */
  public Memory memory() {
    return Memory.of(Arrays.copyOf(words, count));
  }

  private void put(long word) {
    if (count == words.length) {
      words = Arrays.copyOf(words, 2 * count + 4);
    }
    words[count++] = word;
  }

  public Words integer(long value) {
    put(value);
    return this;
  }

  public Words real(double value) {
    put(Double.doubleToRawLongBits(value));
    return this;
  }

  public Words bool(boolean value) {
    put(value ? 1 : 0);
    return this;
  }

  private static void require(Object value) {
    if (value == null) {
      throw new InvalidArgumentException("op: an attribute that has to be given is null");
    }
  }

  public Words dtype(DType value) {
    require(value);
    put(value.number());
    return this;
  }

  public Words string(String value) {
    require(value);
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    put(bytes.length);
    ByteBuffer padded = ByteBuffer.wrap(Arrays.copyOf(bytes, (bytes.length + 7) / 8 * 8));
    padded.order(ByteOrder.nativeOrder());
    while (padded.hasRemaining()) {
      put(padded.getLong());
    }
    return this;
  }

  /** One of the named values that an attribute can have. */
  public Words choice(Object value) {
    require(value);
    return string(value.toString());
  }

  public Words integers(long[] values) {
    require(values);
    put(values.length);
    for (long value : values) {
      put(value);
    }
    return this;
  }

  /** Sizes, which are integers here and not symbols. */
  public Words dims(long[] values) {
    require(values);
    put(values.length);
    for (long value : values) {
      put(0);
      put(value);
    }
    return this;
  }

  private boolean present(Object value) {
    put(value == null ? 0 : 1);
    return value != null;
  }

  public Words optionalInteger(Long value) {
    return present(value) ? integer(value) : this;
  }

  public Words optionalReal(Double value) {
    return present(value) ? real(value) : this;
  }

  public Words optionalBool(Boolean value) {
    return present(value) ? bool(value) : this;
  }

  public Words optionalDtype(DType value) {
    return present(value) ? dtype(value) : this;
  }

  public Words optionalString(String value) {
    return present(value) ? string(value) : this;
  }

  public Words optionalIntegers(long[] values) {
    return present(values) ? integers(values) : this;
  }

  public Words optionalDims(long[] values) {
    return present(values) ? dims(values) : this;
  }
}
