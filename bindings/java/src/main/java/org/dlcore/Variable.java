// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Raw;

/**
 * A named cell that holds a tensor: a parameter, a running statistic, a learning rate. Its shape
 * never changes.
 */
public final class Variable extends Resource {
  private Variable(Context context, Handle handle) {
    super(context, handle);
  }

  static Variable of(Context dl, long borrowed) {
    Raw.dlcore_variable_retain(borrowed);
    return new Variable(dl, dl.core.own(Handle.Kind.VARIABLE, borrowed));
  }

  /**
   * A variable of the program's own.
   *
   * @param dl the context that makes it
   * @param name its name
   * @param value what it holds first; its history is not kept
   * @param trainable whether gradients with respect to it are wanted
   */
  public Variable(Context dl, String name, Tensor value, boolean trainable) {
    this(dl, dl.core.own(Handle.Kind.VARIABLE, create(dl, name, value, trainable)));
  }

  private static long create(Context dl, String name, Tensor value, boolean trainable) {
    int flags = trainable ? Raw.DLCORE_VARIABLE_TRAINABLE : 0;
    return Access.get()
        .made(
            dl,
            null,
            (ctx, self) -> Raw.dlcore_variable_create(ctx, name, dl.handle(value), flags));
  }

  /**
   * Its name.
   *
   * @return the name
   */
  public String name() {
    long self = handle.acquire();
    try {
      return Raw.dlcore_variable_name(self);
    } finally {
      handle.release();
    }
  }

  /**
   * Whether gradients with respect to it are wanted.
   *
   * @return true for a trainable variable
   */
  public boolean isTrainable() {
    long self = handle.acquire();
    try {
      return Raw.dlcore_variable_is_trainable(self) == 1;
    } finally {
      handle.release();
    }
  }

  /**
   * Says whether gradients with respect to it are wanted.
   *
   * @param on true for a trainable variable
   */
  public void setTrainable(boolean on) {
    Access.get()
        .status(
            context, this, (ctx, self) -> Raw.dlcore_variable_set_trainable(ctx, self, on ? 1 : 0));
  }

  /**
   * Its value. While recording, that of a trainable variable is a leaf of the history.
   *
   * @return the value
   */
  public Tensor value() {
    return value(context);
  }

  /**
   * Its value, on another context than its own.
   *
   * @param dl the context that reads it
   * @return the value
   */
  public Tensor value(Context dl) {
    return Access.get().tensor(dl, this, Raw::dlcore_variable_read);
  }

  /**
   * Stores a value of the same dtype and shape, without its history.
   *
   * @param value the new value
   */
  public void assign(Tensor value) {
    Context dl = value.context;
    Access.get()
        .status(dl, this, (ctx, self) -> Raw.dlcore_variable_assign(ctx, self, dl.handle(value)));
  }

  /**
   * Adds to its value.
   *
   * @param value what is added
   */
  public void accumulate(Tensor value) {
    Context dl = value.context;
    Access.get()
        .status(
            dl, this, (ctx, self) -> Raw.dlcore_variable_accumulate(ctx, self, dl.handle(value)));
  }

  /**
   * The gradient that backward accumulated.
   *
   * @return the gradient, or null when there is none
   */
  public Tensor gradient() {
    Tensor[] gradient = new Tensor[1];
    Access.get()
        .value(
            context,
            this,
            (ctx, self) -> {
              long made = Raw.dlcore_variable_gradient(ctx, self);
              if (made != 0 || Raw.dlcore_ok(ctx) == 0) {
                gradient[0] = context.made(made);
              }
              return 0;
            });
    return gradient[0];
  }

  /**
   * Replaces the gradient.
   *
   * @param gradient the new one, or null for none
   */
  public void setGradient(Tensor gradient) {
    Context dl = gradient == null ? context : gradient.context;
    Access.get()
        .status(
            dl,
            this,
            (ctx, self) ->
                Raw.dlcore_variable_set_gradient(
                    ctx, self, gradient == null ? 0 : dl.handle(gradient)));
  }

  @Override
  public String toString() {
    return isClosed() ? "Variable(closed)" : "Variable(" + name() + ")";
  }
}
