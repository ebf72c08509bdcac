// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/** The calls that are made most often, with scalars only, and memory outside of the Java heap. */
public final class Native {
  private Native() {}

  public static native long call0(long context, int op, long attributes, int words);

  public static native long call1(long context, int op, long a, long attributes, int words);

  public static native long call2(long context, int op, long a, long b, long attributes, int words);

  public static native long call3(
      long context, int op, long a, long b, long c, long attributes, int words);

  public static native long callScalar(long context, int op, long x, int kind, long word, int side);

  public static native int invoke(
      long context, int op, long inputs, int n, long attributes, int words, long outputs, int m);

  public static native void release(long tensor);

  static native long allocate(long bytes);

  static native void free(long address);

  static native ByteBuffer view(long address, long bytes);

  /** Of the first element of a direct buffer, whatever its position; 0 of another one. */
  public static native long address(Buffer buffer);

  /** The address of the C function of that kind; see {@link Callbacks}. */
  static native long callback(int kind);

  static native void storeBoolean(boolean[] array, int from, int count, long address);

  static native void storeByte(byte[] array, int from, int count, long address);

  static native void storeShort(short[] array, int from, int count, long address);

  static native void storeInt(int[] array, int from, int count, long address);

  static native void storeLong(long[] array, int from, int count, long address);

  static native void storeFloat(float[] array, int from, int count, long address);

  static native void storeDouble(double[] array, int from, int count, long address);

  static native void loadBoolean(boolean[] array, int from, int count, long address);

  static native void loadByte(byte[] array, int from, int count, long address);

  static native void loadShort(short[] array, int from, int count, long address);

  static native void loadInt(int[] array, int from, int count, long address);

  static native void loadLong(long[] array, int from, int count, long address);

  static native void loadFloat(float[] array, int from, int count, long address);

  static native void loadDouble(double[] array, int from, int count, long address);
}
