// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Native;
import org.dlcore.internal.Reaper;

/**
 * The tensors of a context that no scope owns: a list of phantom references, so that what a program
 * forgets is given back once the collector has found it.
 */
final class TensorNet {
  /** So many tensors outside of scopes look like a program that relies on the collector. */
  private static final int MANY = 10_000;

  private final Core core;
  private Node first;
  private int count;
  private boolean warned;

  TensorNet(Core core) {
    this.core = core;
  }

  /** The net below one tensor. */
  static final class Node extends Reaper.Net {
    private final Core core;
    private long handle;
    private Node next;
    private Node previous;

    private Node(Tensor tensor, Core core) {
      super(tensor);
      this.core = core;
      this.handle = tensor.handle;
    }

    @Override
    protected void caught() {
      core.whenIdle(this::release);
    }

    private void release() {
      if (handle != 0) {
        core.net.unlink(this);
        Native.release(handle);
        handle = 0;
      }
    }
  }

  void add(Tensor tensor) {
    Node node = new Node(tensor, core);
    tensor.node = node;
    node.next = first;
    if (first != null) {
      first.previous = node;
    }
    first = node;
    if (++count > MANY && !warned) {
      warn();
    }
  }

  void remove(Tensor tensor) {
    Node node = tensor.node;
    tensor.node = null;
    node.handle = 0;
    unlink(node);
  }

  private void unlink(Node node) {
    if (node.previous != null) {
      node.previous.next = node.next;
    } else {
      first = node.next;
    }
    if (node.next != null) {
      node.next.previous = node.previous;
    }
    count--;
  }

  /** Releases everything. */
  void end() {
    for (Node node = first; node != null; node = node.next) {
      Native.release(node.handle);
      node.handle = 0;
    }
    first = null;
    count = 0;
  }

  private void warn() {
    warned = true;
    String line =
        StackWalker.getInstance()
            .walk(
                frames ->
                    frames.filter(f -> !f.getClassName().startsWith("org.dlcore.")).findFirst())
            .map(Object::toString)
            .orElse("an unknown line");
    Core.warn(
        "more than "
            + MANY
            + " live tensors outside of scopes, the last one made at "
            + line
            + "; open a scope around what makes them, or close them",
        null);
  }
}
