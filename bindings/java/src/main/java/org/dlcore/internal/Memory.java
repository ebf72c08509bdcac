// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.dlcore.ResourceExhaustedException;

/** Memory outside of the Java heap, for as long as a call needs it. */
public final class Memory implements AutoCloseable {
  private final long bytes;
  private long address;

  public Memory(long bytes) {
    this.bytes = bytes;
    this.address = Native.allocate(bytes);
    if (address == 0) {
      throw new ResourceExhaustedException("memory: no " + bytes + " bytes to pass data in");
    }
  }

  /** Addresses or integers, one after the other. */
  public static Memory of(long... values) {
    Memory memory = new Memory(8L * values.length);
    Native.storeLong(values, 0, values.length, memory.address);
    return memory;
  }

  public long address() {
    return address;
  }

  /** All of it, in the machine's byte order; at most 2 GiB. */
  public ByteBuffer buffer() {
    return view(address, bytes);
  }

  public long[] longs() {
    long[] values = new long[Math.toIntExact(bytes / 8)];
    Native.loadLong(values, 0, values.length, address);
    return values;
  }

  /** Memory that something else owns. */
  public static ByteBuffer view(long address, long bytes) {
    return Native.view(address, bytes).order(ByteOrder.nativeOrder());
  }

  /** Copies elements of a primitive array to an address. */
  public static void store(Object array, int from, int count, long address) {
    check(array, from, count);
    if (array instanceof float[] a) {
      Native.storeFloat(a, from, count, address);
    } else if (array instanceof double[] a) {
      Native.storeDouble(a, from, count, address);
    } else if (array instanceof long[] a) {
      Native.storeLong(a, from, count, address);
    } else if (array instanceof int[] a) {
      Native.storeInt(a, from, count, address);
    } else if (array instanceof short[] a) {
      Native.storeShort(a, from, count, address);
    } else if (array instanceof byte[] a) {
      Native.storeByte(a, from, count, address);
    } else {
      Native.storeBoolean((boolean[]) array, from, count, address);
    }
  }

  /** Copies from an address to all elements of a primitive array. */
  public static <A> A load(A array, long address) {
    int count = Array.getLength(array);
    if (array instanceof float[] a) {
      Native.loadFloat(a, 0, count, address);
    } else if (array instanceof double[] a) {
      Native.loadDouble(a, 0, count, address);
    } else if (array instanceof long[] a) {
      Native.loadLong(a, 0, count, address);
    } else if (array instanceof int[] a) {
      Native.loadInt(a, 0, count, address);
    } else if (array instanceof short[] a) {
      Native.loadShort(a, 0, count, address);
    } else if (array instanceof byte[] a) {
      Native.loadByte(a, 0, count, address);
    } else {
      Native.loadBoolean((boolean[]) array, 0, count, address);
    }
    return array;
  }

  private static void check(Object array, int from, int count) {
    java.util.Objects.checkFromIndexSize(from, count, Array.getLength(array));
  }

  @Override
  public void close() {
    Native.free(address);
    address = 0;
  }
}
