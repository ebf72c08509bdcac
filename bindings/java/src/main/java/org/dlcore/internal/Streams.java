// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.dlcore.Context;
import org.dlcore.Resource;

/** Streams and buffers of Java, where C wants functions and addresses. */
public final class Streams {
  private Streams() {}

  /** A call into C that takes two addresses: function and user_data, or data and size. */
  public interface Call {
    void run(long first, long second);
  }

  /** The same with an object, on a context; it returns a status. */
  public interface ObjectCall {
    int run(long context, long self, long first, long second);
  }

  public static void write(Context dl, Resource on, OutputStream stream, ObjectCall call) {
    write(stream, checked(dl, on, call));
  }

  public static void read(Context dl, Resource on, InputStream stream, ObjectCall call) {
    read(stream, checked(dl, on, call));
  }

  public static void buffer(Context dl, Resource on, ByteBuffer bytes, ObjectCall call) {
    buffer(bytes, checked(dl, on, call));
  }

  private static Call checked(Context dl, Resource on, ObjectCall call) {
    return (first, second) ->
        Access.get().status(dl, on, (ctx, self) -> call.run(ctx, self, first, second));
  }

  public static void write(OutputStream stream, Call call) {
    callback(
        Callbacks.WRITE,
        bytes -> {
          byte[] chunk = new byte[Math.min(bytes.remaining(), 1 << 16)];
          while (bytes.hasRemaining()) {
            int count = Math.min(bytes.remaining(), chunk.length);
            bytes.get(chunk, 0, count);
            stream.write(chunk, 0, count);
          }
          return 0;
        },
        call);
  }

  public static void read(InputStream stream, Call call) {
    callback(
        Callbacks.READ,
        bytes -> {
          byte[] chunk = new byte[Math.min(bytes.remaining(), 1 << 16)];
          int count = stream.read(chunk);
          bytes.put(chunk, 0, Math.max(count, 0));
          return Math.max(count, 0);
        },
        call);
  }

  private static void callback(int kind, Callbacks.Stream stream, Call call) {
    long number = Callbacks.register(stream);
    try {
      call.run(Callbacks.address(kind), number);
    } finally {
      Callbacks.forget(number);
    }
  }

  /** Address and size of what lies between position and limit. */
  public static void buffer(ByteBuffer bytes, Call call) {
    int size = bytes.remaining();
    if (bytes.isDirect()) {
      call.run(Native.address(bytes) + bytes.position(), size);
      java.lang.ref.Reference.reachabilityFence(bytes);
      return;
    }
    try (Memory memory = new Memory(size)) {
      memory.buffer().put(bytes.duplicate());
      call.run(memory.address(), size);
    }
  }
}
