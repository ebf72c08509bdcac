// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Layout;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Reaper;

/**
 * Hands what an engine has to say to the loggers {@code org.dlcore.SOURCE}, on the reaper's thread,
 * and lets go of callbacks that the engine needs no more.
 */
final class EngineLog implements Reaper.Watched {
  private Handle engine;

  void begin(Handle handle) {
    engine = handle;
    Reaper.watch(this, true);
  }

  /** When the engine is closed, before it is given back. */
  void end() {
    Reaper.watch(this, false);
  }

  @Override
  public void look() {
    long self;
    try {
      self = engine.acquire();
    } catch (FailedPreconditionException closed) {
      return;
    }
    try {
      drain(self);
      Raw.dlcore_engine_collect(self);
    } finally {
      engine.release();
    }
  }

  static int number(Level level) {
    return switch (level) {
      case ALL, TRACE, DEBUG -> Raw.DLCORE_LOG_DEBUG;
      case INFO -> Raw.DLCORE_LOG_INFO;
      case WARNING -> Raw.DLCORE_LOG_WARNING;
      default -> Raw.DLCORE_LOG_ERROR;
    };
  }

  private static Level level(int number) {
    if (number >= Raw.DLCORE_LOG_ERROR) {
      return Level.ERROR;
    }
    if (number >= Raw.DLCORE_LOG_WARNING) {
      return Level.WARNING;
    }
    return number >= Raw.DLCORE_LOG_INFO ? Level.INFO : Level.DEBUG;
  }

  private static void drain(long engine) {
    try (Memory memory = new Memory(Layout.LogRecord.SIZE)) {
      ByteBuffer record = memory.buffer();
      record.putInt(Layout.LogRecord.STRUCT_SIZE, Layout.LogRecord.SIZE);
      while (Raw.dlcore_engine_next_log(engine, memory.address(), 0) == 1) {
        long lost = record.getLong(Layout.LogRecord.LOST);
        System.getLogger("org.dlcore." + text(record, Layout.LogRecord.SOURCE))
            .log(
                level(record.getInt(Layout.LogRecord.LEVEL)),
                text(record, Layout.LogRecord.MESSAGE)
                    + (lost == 0 ? "" : " (" + lost + " records before it are lost)"));
      }
    }
  }

  static String text(ByteBuffer record, int offset) {
    int end = offset;
    while (record.get(end) != 0) {
      end++;
    }
    byte[] bytes = new byte[end - offset];
    record.get(offset, bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
