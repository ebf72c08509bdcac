// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.dlcore.InvalidArgumentException;

/** Text on its way between Java and C: real UTF-8, never the JVM's modified form. */
public final class Text {
  private Text() {}

  /** The bytes and a NUL; null stays null. */
  public static byte[] encode(String text) {
    if (text == null) {
      return null;
    }
    if (text.indexOf('\0') >= 0) {
      throw new InvalidArgumentException(
          "text: a NUL character cannot be passed on: position is " + text.indexOf('\0'));
    }
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] terminated = new byte[bytes.remaining() + 1];
      bytes.get(terminated, 0, bytes.remaining());
      return terminated;
    } catch (CharacterCodingException error) {
      throw new InvalidArgumentException(
          "text: half of a surrogate pair stands alone in '" + text + "'");
    }
  }

  static String decode(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  /** What a function that follows the two-call pattern writes. */
  public interface Writer {
    long write(long buffer, long size);
  }

  /** By the two-call pattern; null when the function fails. */
  public static String read(Writer writer) {
    long size = writer.write(0, 0);
    while (size >= 0) {
      try (Memory memory = new Memory(size)) {
        long needed = writer.write(memory.address(), size);
        if (needed >= 0 && needed <= size) {
          byte[] bytes = new byte[(int) needed - 1];
          memory.buffer().get(bytes);
          return decode(bytes);
        }
        size = needed;
      }
    }
    return null;
  }
}
