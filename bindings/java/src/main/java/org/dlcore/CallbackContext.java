// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Raw;

/** The context that C gives to a callback, for as long as that runs. */
final class CallbackContext {
  private CallbackContext() {}

  /** What a callback does. */
  interface Body<R> {
    R run(Context dl) throws Exception;
  }

  /** Runs it with a context of its own, whose tensors end with it. */
  static <R> R run(Engine engine, long child, Body<R> body) throws Exception {
    try (Context dl = new Context(new Core(engine, child, true), false)) {
      return body.run(dl);
    }
  }

  /** A tensor of the callback for one that C lends to it. */
  static Tensor borrow(Context dl, long borrowed) {
    if (borrowed == 0) {
      return null;
    }
    Raw.dlcore_tensor_retain(borrowed);
    return dl.adopt(borrowed);
  }
}
