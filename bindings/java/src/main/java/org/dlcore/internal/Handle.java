// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.util.concurrent.atomic.AtomicInteger;
import org.dlcore.FailedPreconditionException;

/**
 * One reference to an object of the engine that any thread may use and close: it is given back when
 * it is closed and no call uses it any more.
 */
public final class Handle {
  /** What it refers to. */
  public enum Kind {
    ENGINE,
    SHARED_ENGINE,
    VARIABLE,
    MODULE,
    OPTIMIZER,
    SCHEDULE,
    LOADER,
    GRAPH,
    EXECUTABLE,
    CHECKPOINT,
    ARCHIVE;

    @Override
    public String toString() {
      return this == SHARED_ENGINE ? "engine" : name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  private static final int CLOSED = Integer.MIN_VALUE;

  private final Kind kind;
  private final long pointer;
  private final Runnable closed;
  private final AtomicInteger uses = new AtomicInteger(); // CLOSED, and the calls that use it

  /**
   * Takes over a reference.
   *
   * @param closed runs once, when it is closed; may be null
   */
  public Handle(Kind kind, long pointer, Runnable closed) {
    this.kind = kind;
    this.pointer = pointer;
    this.closed = closed;
  }

  /** The address, valid until {@link #release}. */
  public long acquire() {
    int before;
    do {
      before = uses.get();
      if (before < 0) {
        throw new FailedPreconditionException(kind + ": it is closed");
      }
    } while (!uses.compareAndSet(before, before + 1));
    return pointer;
  }

  /** Ends a use. */
  public void release() {
    if (uses.decrementAndGet() == CLOSED) {
      giveBack();
    }
  }

  /** Whether that is the address. */
  public boolean refersTo(long address) {
    return pointer == address;
  }

  public boolean isClosed() {
    return uses.get() < 0;
  }

  /** Closes it; closing it again does nothing. */
  public void close() {
    int before;
    do {
      before = uses.get();
      if (before < 0) {
        return;
      }
    } while (!uses.compareAndSet(before, before | CLOSED));
    if (closed != null) {
      closed.run();
    }
    if (before == 0) {
      giveBack();
    }
  }

  private void giveBack() {
    switch (kind) {
      case ENGINE -> Raw.dlcore_engine_close(pointer);
      case SHARED_ENGINE -> Raw.dlcore_engine_release(pointer);
      case VARIABLE -> Raw.dlcore_variable_release(pointer);
      case MODULE -> Raw.dlcore_module_release(pointer);
      case OPTIMIZER -> Raw.dlcore_optimizer_release(pointer);
      case SCHEDULE -> Raw.dlcore_schedule_release(pointer);
      case LOADER -> Raw.dlcore_loader_release(pointer);
      case GRAPH -> Raw.dlcore_graph_release(pointer);
      case EXECUTABLE -> Raw.dlcore_executable_release(pointer);
      case CHECKPOINT -> Raw.dlcore_checkpoint_release(pointer);
      case ARCHIVE -> Raw.dlcore_archive_release(pointer);
    }
  }
}
