// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.HashMap;
import java.util.List;
import java.util.function.LongFunction;
import java.util.Map;
import org.dlcore.internal.Access;
import org.dlcore.internal.Access.Call;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Text;

/**
 * Calls into C that happen seldom enough to be written as functions: on a context, with an object
 * kept open.
 */
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
    long address = dl.standIns == null ? self : dl.standIns.getOrDefault(used, self);
    try {
      long ctx = dl.core.enter();
      try {
        return call.run(ctx, address);
      } finally {
        dl.core.exit();
      }
    } finally {
      if (used != null) {
        used.release();
      }
    }
  }

  /** Runs a call that ends something: also on a thread that is interrupted. */
  static void end(Context dl, Call call) {
    dl.core.enterAlways();
    try {
      if (call.run(dl.core.pointer(), 0) != 0) {
        throw dl.core.failure();
      }
    } finally {
      dl.core.exit();
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
  public Variable variable(Context dl, Resource on, Call call) {
    Variable[] variable = new Variable[1];
    run(
        dl,
        on,
        (ctx, self) -> {
          variable[0] = borrowed(dl, call.run(ctx, self));
          return 0;
        });
    return variable[0];
  }

  @Override
  public Variable borrowed(Context dl, long variable) {
    if (variable == 0) {
      throw dl.core.failure();
    }
    return Variable.of(dl, variable);
  }

  @Override
  public String lentText(Context dl, Resource on, LongFunction<String> call) {
    String[] text = new String[1];
    value(
        dl,
        on,
        (ctx, self) -> {
          text[0] = call.apply(self);
          return 0;
        });
    return text[0];
  }

  @Override
  public String text(Context dl, Resource on, TextCall call) {
    String[] text = new String[1];
    run(
        dl,
        on,
        (ctx, self) -> {
          text[0] = Text.read((buffer, size) -> call.run(ctx, self, buffer, size));
          if (text[0] == null) {
            throw dl.core.failure();
          }
          return 0;
        });
    return text[0];
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
        Resource resource = resources.get(acquired);
        if (resource == null) {
          throw new InvalidArgumentException(
              "call: an object is missing: number " + acquired + " is null");
        }
        pointers[acquired] = resource.handle.acquire();
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

  @Override
  public void forward(
      Resource made,
      long child,
      long module,
      long call,
      List<? extends Resource> children,
      List<Variable> variables,
      Forward function)
      throws Exception {
    CallbackContext.run(
        made.context.core.engine,
        child,
        context -> {
          if (!made.handle.refersTo(module)) {
            context.standIns = standIns(context, module, children, variables);
          }
          OpCall seen = new OpCall(context, call);
          seen.setOutput(0, function.run(seen.input(0)));
          return null;
        });
  }

  private Map<Handle, Long> standIns(
      Context context, long module, List<? extends Resource> children, List<Variable> variables) {
    Map<Handle, Long> standIns = new HashMap<>();
    for (int i = 0; i < children.size(); i++) {
      standIns.put(children.get(i).handle, Raw.dlcore_module_child(module, i));
    }
    for (Variable variable : variables) {
      String name = variable.name();
      standIns.put(
          variable.handle,
          made(context, null, (ctx, self) -> Raw.dlcore_module_find(ctx, module, name)));
    }
    return standIns;
  }
}
