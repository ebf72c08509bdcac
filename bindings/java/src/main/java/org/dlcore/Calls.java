// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.List;
import org.dlcore.internal.Access;
import org.dlcore.internal.Access.Call;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;

/** Calls into C that happen seldom enough to be written as functions: on a context, with an object kept open. */
final class Calls extends Access {
  private static final Calls INSTANCE = new Calls();

  private Calls() {}

  static void install() {
    Access.set(INSTANCE);
  }

  /** Runs a call; `on` may be null. What it returns means no failure. */
  private static long run(Context dl, Resource on, Call call) {
    Handle used = on == null ? null : on.handle;
    long self = used == null ? 0 : used.acquire();
    try {
      long ctx = dl.core.enter();
      try {
        return call.run(ctx, self);
      } finally {
        dl.core.exit();
      }
    } finally {
      if (used != null) {
        used.release();
      }
    }
  }

  @Override
  public long value(Context dl, Resource on, Call call) {
    return run(dl, on, call);
  }

  @Override
  public void status(Context dl, Resource on, Call call) {
    run(
        dl,
        on,
        (ctx, self) -> {
          if (call.run(ctx, self) != 0) {
            throw dl.core.failure();
          }
          return 0;
        });
  }

  @Override
  public long made(Context dl, Resource on, Call call) {
    return run(
        dl,
        on,
        (ctx, self) -> {
          long made = call.run(ctx, self);
          if (made == 0) {
            throw dl.core.failure();
          }
          return made;
        });
  }

  @Override
  public Tensor tensor(Context dl, Resource on, Call call) {
    Tensor[] tensor = new Tensor[1];
    run(
        dl,
        on,
        (ctx, self) -> {
          tensor[0] = dl.made(call.run(ctx, self));
          return 0;
        });
    return tensor[0];
  }

  @Override
  public long handle(Context dl, Tensor tensor) {
    return dl.handle(tensor);
  }

  @Override
  public Variable variable(Context dl, long borrowed) {
    return Variable.of(dl, borrowed);
  }

  @Override
  public Handle own(Context dl, Handle.Kind kind, long made) {
    return dl.core.own(kind, made);
  }

  @Override
  public long withHandles(Context dl, List<? extends Resource> resources, ArrayCall call) {
    return made(dl, null, (ctx, self) -> inside(resources, addresses -> call.run(ctx, addresses)));
  }

  @Override
  public long inside(List<? extends Resource> resources, Inner call) {
    long[] pointers = new long[resources.size()];
    int acquired = 0;
    try {
      for (; acquired < pointers.length; acquired++) {
        pointers[acquired] = resources.get(acquired).handle.acquire();
      }
      try (Memory memory = Memory.of(pointers)) {
        return call.run(memory.address());
      }
    } finally {
      while (acquired-- > 0) {
        resources.get(acquired).handle.release();
      }
    }
  }
}
