// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Where calls from C into Java arrive. C has one function for each kind and knows the Java object
 * by a number. An exception never passes through C: it is kept for its thread, and is the cause of
 * what the failed call throws.
 */
public final class Callbacks {
  /** What a custom op does: {@link #INFER}, {@link #FORWARD} or {@link #BACKWARD}. */
  public interface Op {
    void run(int which, long child, long call) throws Exception;
  }

  /** What a custom module does. */
  public interface Module {
    void run(long child, long module, long call) throws Exception;
  }

  /** Makes one tensor of others. */
  public interface Function {
    long run(long context, long[] inputs) throws Exception;
  }

  /** Takes or gives bytes. */
  public interface Stream {
    /** Returns how many bytes it moved; it has to take all, but may give fewer. */
    int move(ByteBuffer bytes) throws Exception;
  }

  public static final int INFER = 0;
  public static final int FORWARD = 1;
  public static final int BACKWARD = 2;
  public static final int WRITE = 3;
  public static final int READ = 4;
  public static final int FUNCTION = 5;
  public static final int DESTROY = 6;
  public static final int MODULE = 7;

  private static final int UNKNOWN = 2;
  private static final int CHUNK = 1 << 30;
  private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final ThreadLocal<Throwable> THROWN = new ThreadLocal<>();

  private Callbacks() {}

  /** The address of the C function of that kind. */
  public static long address(int kind) {
    return Native.callback(kind);
  }

  /** Gives an object a number, as user_data. */
  public static long register(Object object) {
    long number = NUMBERS.incrementAndGet();
    OBJECTS.put(number, object);
    return number;
  }

  public static void forget(long number) {
    OBJECTS.remove(number);
  }

  /** How many objects have a number. */
  public static int count() {
    return OBJECTS.size();
  }

  /** What a callback on this thread threw last, once. */
  public static Throwable takeThrown() {
    Throwable thrown = THROWN.get();
    THROWN.remove();
    return thrown;
  }

  private static int keep(Throwable thrown) {
    THROWN.set(thrown);
    return thrown instanceof org.dlcore.DlcoreException known ? known.code() : UNKNOWN;
  }

  private static int keep(Throwable thrown, long context) {
    int code = keep(thrown);
    String message = thrown.getMessage();
    String type =
        thrown instanceof org.dlcore.DlcoreException ? "" : thrown.getClass().getName() + ": ";
    Raw.dlcore_context_set_error(
        context, code, (type + (message == null ? "" : message)).replace('\0', '?'));
    return code;
  }

  // ---- Called by C

  static int op(long number, int which, long child, long call) {
    try {
      ((Op) OBJECTS.get(number)).run(which, child, call);
      return 0;
    } catch (Throwable thrown) {
      return keep(thrown, child);
    }
  }

  static int module(long number, long child, long module, long call) {
    try {
      ((Module) OBJECTS.get(number)).run(child, module, call);
      return 0;
    } catch (Throwable thrown) {
      return keep(thrown, child);
    }
  }

  static int function(long number, long context, long inputs, long count, long output) {
    try {
      long[] given = Memory.load(new long[(int) count], inputs);
      Memory.view(output, 8).putLong(0, ((Function) OBJECTS.get(number)).run(context, given));
      return 0;
    } catch (Throwable thrown) {
      return keep(thrown, context);
    }
  }

  static int write(long number, long data, long size) {
    try {
      for (long at = 0; at < size; at += CHUNK) {
        ((Stream) OBJECTS.get(number))
            .move(Memory.view(data + at, Math.min(CHUNK, size - at)).asReadOnlyBuffer());
      }
      return 0;
    } catch (Throwable thrown) {
      return keep(thrown);
    }
  }

  static long read(long number, long buffer, long size) {
    try {
      return ((Stream) OBJECTS.get(number)).move(Memory.view(buffer, Math.min(CHUNK, size)));
    } catch (Throwable thrown) {
      return -keep(thrown);
    }
  }

  static void destroy(long number) {
    forget(number);
  }
}
