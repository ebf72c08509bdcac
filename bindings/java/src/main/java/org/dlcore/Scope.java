// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.Arrays;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/**
 * Owns the tensors that are made on its context while it is the innermost one, and gives them back,
 * all together, when it is closed.
 *
 * <pre>{@code
 * try (var scope = dl.scope()) {
 *   ...
 *   best = scope.keep(y); // outlives the scope
 * }
 * }</pre>
 */
public final class Scope implements AutoCloseable {
  private final Context context;
  private final Scope outer;
  private Tensor[] tensors = new Tensor[16];
  private int count;
  private boolean open = true;

  Scope(Context context, Scope outer) {
    this.context = context;
    this.outer = outer;
  }

  /**
   * Moves a tensor to the enclosing scope, or out of all scopes.
   *
   * @param tensor one that this scope owns
   * @return the same tensor
   */
  public Tensor keep(Tensor tensor) {
    Core core = context.core;
    core.enter();
    try {
      if (tensor.scope != this) {
        throw new InvalidArgumentException("keep: the tensor does not belong to this scope");
      }
      remove(tensor);
      tensor.scope = null;
      if (outer != null) {
        outer.add(tensor);
      } else {
        core.net.add(tensor);
      }
      return tensor;
    } finally {
      core.exit();
    }
  }

  /** Gives back what it owns, and closes the scopes inside it; it stays open. */
  public void reset() {
    context.core.whenIdle(
        () -> {
          if (open) {
            unwind();
            release();
          }
        });
  }

  /** Gives back what it owns; closing it again does nothing. */
  @Override
  public void close() {
    if (open) {
      context.core.whenIdle(this::end);
    }
  }

  boolean isOpen() {
    return open;
  }

  // ---- Inside

  void add(Tensor tensor) {
    if (count == tensors.length) {
      tensors = Arrays.copyOf(tensors, 2 * count);
    }
    tensor.scope = this;
    tensor.slot = count;
    tensors[count++] = tensor;
  }

  void remove(Tensor tensor) {
    Tensor last = tensors[--count];
    tensors[count] = null;
    if (last != tensor) {
      tensors[tensor.slot] = last;
      last.slot = tensor.slot;
    }
  }

  private void unwind() {
    while (context.core.scope != this) {
      context.core.scope.end();
    }
  }

  void end() {
    if (open) {
      unwind();
      release();
      open = false;
      context.core.scope = outer;
    }
  }

  private void release() {
    long[] handles = new long[count];
    for (int i = 0; i < count; i++) {
      handles[i] = tensors[i].handle;
      tensors[i].handle = 0;
      tensors[i] = null;
    }
    count = 0;
    if (handles.length <= 256) {
      Raw.dlcore_tensor_release_many(
          context.core.longs(handles, handles.length, 0), handles.length);
      return;
    }
    try (Memory memory = Memory.of(handles)) {
      Raw.dlcore_tensor_release_many(memory.address(), handles.length);
    }
  }
}
