// SPDX-License-Identifier: Apache-2.0
package org.dlcore.nn;

import java.util.ArrayList;
import java.util.List;
import org.dlcore.Context;
import org.dlcore.Tensor;
import org.dlcore.Variable;
import org.dlcore.internal.Access;
import org.dlcore.internal.Callbacks;
import org.dlcore.internal.Raw;

/**
 * A module whose forward is written in Java. In all else it is like any other: it is listed, saved,
 * put inside others, and snapshots of it are taken.
 *
 * <pre>{@code
 * final class Residual extends CustomModule {
 *   private final Linear inner;
 *
 *   Residual(Context dl) {
 *     this(dl, new Linear(dl, 8, 8));
 *   }
 *
 *   private Residual(Context dl, Linear inner) {
 *     super(dl, parts().child("inner", inner));
 *     this.inner = inner;
 *   }
 *
 *   public Tensor forward(Tensor x) {
 *     return inner.call(x).relu().add(x);
 *   }
 * }
 * }</pre>
 */
public abstract class CustomModule extends Module {
  /** What a custom module is made of, in the order in which its variables are listed. */
  protected static final class Parts {
    private final List<String> names = new ArrayList<>();
    private final List<Module> children = new ArrayList<>();
    private final List<Variable> variables = new ArrayList<>();
    private CustomModule module;

    private Parts() {}

    /**
     * Adds a module that the forward uses.
     *
     * @param name its name in paths, without a dot
     * @param child a module that is inside no other
     * @return these parts
     */
    public Parts child(String name, Module child) {
      names.add(name);
      children.add(child);
      return this;
    }

    /**
     * Adds a variable of the module's own; its name ends its path.
     *
     * @param variable the variable
     * @return these parts
     */
    public Parts variable(Variable variable) {
      variables.add(variable);
      return this;
    }
  }

  /**
   * A list to add to.
   *
   * @return no parts yet
   */
  protected static Parts parts() {
    return new Parts();
  }

  /**
   * A module of some parts.
   *
   * @param dl the context that makes it
   * @param parts what its forward uses
   */
  protected CustomModule(Context dl, Parts parts) {
    this(dl, parts, "Custom");
  }

  /**
   * A module of some parts.
   *
   * @param dl the context that makes it
   * @param parts what its forward uses
   * @param kind what {@link #kind} answers and errors name
   */
  protected CustomModule(Context dl, Parts parts, String kind) {
    super(dl, define(dl, parts, kind));
    parts.module = this;
  }

  /**
   * Computes. It may run on several threads at once, and on snapshots, whose children and variables
   * then answer in place of those that were given; variables have to be asked by {@code
   * variable.value(x.context())} for that.
   *
   * @param x the input, on the context of this call
   * @return the output, on the same context
   */
  protected abstract Tensor forward(Tensor x);

  private static long define(Context dl, Parts parts, String kind) {
    Access access = Access.get();
    Callbacks.Module callback =
        (child, module, call) ->
            access.forward(
                parts.module,
                child,
                module,
                call,
                parts.children,
                parts.variables,
                x -> parts.module.forward(x));
    long number = Callbacks.register(callback); // forgotten when C has no more use for it
    String names = parts.names.isEmpty() ? null : String.join(",", parts.names);
    try {
      return access.withHandles(
          dl,
          parts.children,
          (ctx, children) ->
              access.inside(
                  parts.variables,
                  variables ->
                      Raw.dlcore_module_define(
                          ctx,
                          kind,
                          children,
                          parts.children.size(),
                          names,
                          variables,
                          parts.variables.size(),
                          Callbacks.address(Callbacks.MODULE),
                          number,
                          Callbacks.address(Callbacks.DESTROY))));
    } catch (RuntimeException error) {
      Callbacks.forget(number); // also where the call was never made
      throw error;
    }
  }
}
