// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Access;
import org.dlcore.internal.Callbacks;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/** Registers ops that are written in Java. */
final class CustomOps {
  private CustomOps() {}

  static Op register(
      Context dl, String name, int inputs, int outputs, int attributes, CustomOp op) {
    Engine engine = dl.core.engine;
    Callbacks.Op adapter =
        (which, child, call) ->
            CallbackContext.run(
                engine,
                child,
                context -> {
                  OpCall seen = new OpCall(context, call);
                  switch (which) {
                    case Callbacks.INFER -> op.infer(seen);
                    case Callbacks.FORWARD -> op.forward(seen);
                    default -> op.backward(seen);
                  }
                  return null;
                });
    long number = Callbacks.register(adapter); // forgotten when the engine ends
    try (Memory result = Memory.of(0)) {
      Access.get()
          .status(
              dl,
              null,
              (ctx, self) ->
                  Raw.dlcore_op_register(
                      ctx,
                      name,
                      inputs,
                      outputs,
                      attributes,
                      Callbacks.address(Callbacks.INFER),
                      Callbacks.address(Callbacks.FORWARD),
                      op.isDifferentiable() ? Callbacks.address(Callbacks.BACKWARD) : 0,
                      number,
                      Callbacks.address(Callbacks.DESTROY),
                      result.address()));
      return new Op(dl, name, result.buffer().getInt(0));
    } catch (RuntimeException error) {
      Callbacks.forget(number); // also where the call was never made
      throw error;
    }
  }

  static Op find(Context dl, String name) {
    int number =
        (int)
            Access.get()
                .value(
                    dl,
                    null,
                    (ctx, self) -> {
                      int found = Raw.dlcore_catalogue_find(ctx, Raw.DLCORE_CATALOGUE_OPS, name);
                      if (found < 0) {
                        throw dl.core.failure();
                      }
                      return found;
                    });
    return new Op(dl, name, number);
  }
}
