// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.ArrayList;
import java.util.List;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Raw;

/**
 * A graph that was made executable. Any number of threads may run it, each on a context of its own.
 */
public final class Executable extends Resource {
  Executable(Context dl, long made) {
    super(dl, dl.core.own(Handle.Kind.EXECUTABLE, made));
  }

  /**
   * Runs it on the context that made it.
   *
   * @param outputs how many results the graph has
   * @param inputs a tensor for each input of the graph
   * @return the results
   */
  public List<Tensor> run(int outputs, Tensor... inputs) {
    return run(context, outputs, inputs);
  }

  /**
   * Runs it: reads its variables, computes, and then updates its variables, all together. The bits
   * are those of the calls that it was captured from.
   *
   * @param dl the context to run on
   * @param outputs how many results the graph has
   * @param inputs a tensor for each input of the graph
   * @return the results
   */
  public List<Tensor> run(Context dl, int outputs, Tensor... inputs) {
    List<Tensor> results = new ArrayList<>();
    Core core = dl.core;
    Access.get()
        .value(
            dl,
            this,
            (ctx, self) -> {
              long[] handles = new long[inputs.length + outputs];
              for (int i = 0; i < inputs.length; i++) {
                handles[i] = dl.handle(inputs[i]);
              }
              long operands = core.longs(handles, handles.length, 0);
              long made = operands + 8L * inputs.length;
              if (Raw.dlcore_executable_run(ctx, self, operands, inputs.length, made, outputs)
                  != 0) {
                throw core.failure();
              }
              for (int i = 0; i < outputs; i++) {
                results.add(dl.made(core.word(inputs.length + i)));
              }
              return 0;
            });
    return results;
  }
}
