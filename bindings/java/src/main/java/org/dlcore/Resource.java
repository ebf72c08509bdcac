// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Handle;
import org.dlcore.internal.Library;
import org.dlcore.internal.Reaper;

/**
 * An object of the engine other than a tensor. It is closed by the program, with the context that
 * made it, or at last when the collector finds it. Any thread may close it, also while a call uses
 * it: that call still ends well.
 */
public abstract class Resource implements AutoCloseable {
  static {
    Library.load();
  }

  final Context context;
  final Handle handle;

  /**
   * Takes over a handle.
   *
   * @param context the context that made it
   * @param handle what C knows it by
   */
  @SuppressWarnings("exports") // only the binding's own classes can make one
  protected Resource(Context context, Handle handle) {
    this.context = context;
    this.handle = handle;
    Reaper.guard(this, handle);
  }

  /**
   * The context that made it, which its methods run on.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  /**
   * Whether it was closed.
   *
   * @return true after {@link #close}, or after the context was closed
   */
  public boolean isClosed() {
    return handle.isClosed();
  }

  /** Closes it; closing it again does nothing. */
  @Override
  public void close() {
    handle.close();
  }
}
