// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/** A mode of a context, until it is closed: then what was before is back. */
public final class Mode implements AutoCloseable {
  private Runnable restore;

  Mode(Runnable restore) {
    this.restore = restore;
  }

  /** Ends the mode; closing it again does nothing. */
  @Override
  public void close() {
    if (restore != null) {
      restore.run();
      restore = null;
    }
  }
}
