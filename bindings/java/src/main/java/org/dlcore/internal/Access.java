// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.util.List;
import java.util.function.LongFunction;
import org.dlcore.Context;
import org.dlcore.Resource;
import org.dlcore.Tensor;
import org.dlcore.Variable;

/** What the packages of the binding share and programs do not see. */
public abstract class Access {
  private static Access instance;

  /** A call into C: on a context, with an object that is not closed meanwhile. */
  public interface Call {
    long run(long context, long self);
  }

  /** A call into C that writes a text, by the two-call pattern. */
  public interface TextCall {
    long run(long context, long self, long buffer, long size);
  }

  /** A call into C that takes an array of addresses. */
  public interface ArrayCall {
    long run(long context, long addresses);
  }

  /** The same, inside a call. */
  public interface Inner {
    long run(long addresses);
  }

  public static Access get() {
    return instance;
  }

  public static void set(Access access) {
    instance = access;
  }

  /** Runs a call; `on` may be null. What it returns means no failure. */
  public abstract long value(Context dl, Resource on, Call call);

  /** Runs a call that returns a status. */
  public abstract void status(Context dl, Resource on, Call call);

  /** Runs a call that returns an object. */
  public abstract long made(Context dl, Resource on, Call call);

  /** Runs a call that returns a tensor. */
  public abstract Tensor tensor(Context dl, Resource on, Call call);

  /** The address of a tensor of that context. Only within a call. */
  public abstract long handle(Context dl, Tensor tensor);

  /** Runs a call that lends a variable. */
  public abstract Variable variable(Context dl, Resource on, Call call);

  /** Within a call: a variable that was lent, or the failure that there is none. */
  public abstract Variable borrowed(Context dl, long variable);

  /** Runs a call that writes a text by the two-call pattern. */
  public abstract String text(Context dl, Resource on, TextCall call);

  /** Reads a text that an object lends; null when there is none. */
  public abstract String lentText(Context dl, Resource on, LongFunction<String> call);

  /** A handle that is closed with the context at the latest. */
  public abstract Handle own(Context dl, Handle.Kind kind, long made);

  /**
   * Runs a call that returns an object, with the addresses of resources that are not closed
   * meanwhile.
   */
  public abstract long withHandles(Context dl, List<? extends Resource> resources, ArrayCall call);

  /** Within a call: something with the addresses of resources that are not closed meanwhile. */
  public abstract long inside(List<? extends Resource> resources, Inner call);

  /** What a custom module computes. */
  public interface Forward {
    Tensor run(Tensor x) throws Exception;
  }

  /**
   * Runs a module's forward for a callback. Where `module` is not the one that was made but a
   * snapshot, its children and variables stand in for the given ones.
   */
  public abstract void forward(
      Resource made,
      long child,
      long module,
      long call,
      List<? extends Resource> children,
      List<Variable> variables,
      Forward function)
      throws Exception;
}
