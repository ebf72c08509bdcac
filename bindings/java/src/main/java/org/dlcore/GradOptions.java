// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.ByteBuffer;
import org.dlcore.internal.Layout;

/** How gradients are taken. */
public final class GradOptions {
  private boolean createGraph;
  private boolean retainGraph;
  private boolean allowUnused;

  /** Everything at its default. */
  public GradOptions() {}

  /**
   * Gives the gradients history of their own.
   *
   * @param on the default is false
   * @return these options
   */
  public GradOptions createGraph(boolean on) {
    createGraph = on;
    return this;
  }

  /**
   * Lets the history be used again; createGraph implies it.
   *
   * @param on the default is false
   * @return these options
   */
  public GradOptions retainGraph(boolean on) {
    retainGraph = on;
    return this;
  }

  /**
   * Gives null for a tensor without influence, which is an error otherwise.
   *
   * @param on the default is false
   * @return these options
   */
  public GradOptions allowUnused(boolean on) {
    allowUnused = on;
    return this;
  }

  void write(ByteBuffer record) {
    record.putInt(Layout.GradOptions.STRUCT_SIZE, Layout.GradOptions.SIZE);
    record.put(Layout.GradOptions.CREATE_GRAPH, (byte) (createGraph ? 1 : 0));
    record.put(Layout.GradOptions.RETAIN_GRAPH, (byte) (retainGraph ? 1 : 0));
    record.put(Layout.GradOptions.ALLOW_UNUSED, (byte) (allowUnused ? 1 : 0));
    record.put(Layout.GradOptions.RESERVED, (byte) 0);
  }
}
