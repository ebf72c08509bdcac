// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Access;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/**
 * While it is open, the calls on its context that would compute append to a graph instead. Closed
 * without {@link #end}, it is forgotten and nothing has changed.
 *
 * <pre>{@code
 * try (Capture capture = dl.capture("square")) {
 *   Tensor x = capture.input("x", DType.F32, "[B, 2]");
 *   Graph graph = capture.end(x.multiply(x));
 * }
 * }</pre>
 */
public final class Capture implements AutoCloseable {
  private final Context context;
  private boolean open = true;

  Capture(Context context, String name) {
    this.context = context;
    Access.get().status(context, null, (ctx, self) -> Raw.dlcore_capture_begin(ctx, name));
  }

  /**
   * An input of the graph.
   *
   * @param name its name
   * @param dtype what its elements are
   * @param shape text like {@code [64, 784]}, or with symbols {@code [B, 784]}
   * @return a symbolic tensor
   */
  public Tensor input(String name, DType dtype, String shape) {
    return Access.get()
        .tensor(
            context,
            null,
            (ctx, self) -> Raw.dlcore_capture_input(ctx, name, dtype.number(), shape));
  }

  /**
   * Makes a concrete tensor usable in the capture, as a constant of the graph.
   *
   * @param tensor the tensor
   * @return a symbolic tensor
   */
  public Tensor constant(Tensor tensor) {
    return Access.get()
        .tensor(
            context, null, (ctx, self) -> Raw.dlcore_capture_constant(ctx, context.handle(tensor)));
  }

  /**
   * Ends the capture.
   *
   * @param outputs what the graph returns
   * @return the graph
   */
  public Graph end(Tensor... outputs) {
    Graph graph =
        Graph.of(
            context,
            (ctx, self) -> {
              long[] handles = new long[outputs.length];
              for (int i = 0; i < handles.length; i++) {
                handles[i] = context.handle(outputs[i]);
              }
              try (Memory memory = Memory.of(handles)) {
                return Raw.dlcore_capture_end(ctx, memory.address(), handles.length);
              }
            });
    open = false;
    return graph;
  }

  /** Forgets the capture, unless it has ended. */
  @Override
  public void close() {
    if (open) {
      open = false;
      Calls.end(context, (ctx, self) -> Raw.dlcore_capture_abort(ctx));
    }
  }
}
