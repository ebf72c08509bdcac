// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.ArrayList;
import java.util.List;
import org.dlcore.internal.Native;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Words;

/** How the methods of {@link ContextOps} reach C. */
abstract class ContextCalls {
  final Core core;

  ContextCalls(Core core) {
    this.core = core;
  }

  abstract Context context();

  /** The address of an operand, inside. */
  final long handle(Tensor tensor) {
    if (tensor == null) {
      throw new InvalidArgumentException("tensor: an operand is null");
    }
    if (tensor.context != this) {
      return foreign(tensor);
    }
    long handle = tensor.handle;
    if (handle == 0) {
      throw new FailedPreconditionException("tensor: it is closed");
    }
    return handle;
  }

  private static long foreign(Tensor tensor) {
    if (tensor == Tensor.NONE) {
      return tensor.handle;
    }
    throw new InvalidArgumentException(
        "tensor: an operand belongs to another context; rebind it with on(context)");
  }

  /** An operand that may be absent. */
  static Tensor orNone(Tensor tensor) {
    return tensor == null ? Tensor.NONE : tensor;
  }

  /** A new tensor of a handle that a call returned, inside. */
  final Tensor made(long handle) {
    if (handle == 0) {
      throw core.failure();
    }
    Tensor tensor = new Tensor(context(), handle);
    core.track(tensor);
    return tensor;
  }

  final Tensor call(int op, Words words) {
    long ctx = core.enter();
    try {
      return made(Native.call0(ctx, op, core.attributes(words), Core.count(words)));
    } finally {
      core.exit();
    }
  }

  final Tensor call(int op, Tensor a, Words words) {
    long ctx = core.enter();
    try {
      return made(Native.call1(ctx, op, handle(a), core.attributes(words), Core.count(words)));
    } finally {
      core.exit();
    }
  }

  final Tensor call(int op, Tensor a, Tensor b, Words words) {
    long ctx = core.enter();
    try {
      return made(
          Native.call2(ctx, op, handle(a), handle(b), core.attributes(words), Core.count(words)));
    } finally {
      core.exit();
    }
  }

  final Tensor call(int op, Tensor a, Tensor b, Tensor c, Words words) {
    long ctx = core.enter();
    try {
      return made(
          Native.call3(
              ctx, op, handle(a), handle(b), handle(c), core.attributes(words), Core.count(words)));
    } finally {
      core.exit();
    }
  }

  final Tensor scalar(int op, Tensor x, double value, int side) {
    return scalar(op, x, Raw.DLCORE_SCALAR_F64, Double.doubleToRawLongBits(value), side);
  }

  final Tensor scalar(int op, Tensor x, long value, int side) {
    return scalar(op, x, Raw.DLCORE_SCALAR_I64, value, side);
  }

  final Tensor scalar(int op, Tensor x, boolean value, int side) {
    return scalar(op, x, Raw.DLCORE_SCALAR_BOOL, value ? 1 : 0, side);
  }

  private Tensor scalar(int op, Tensor x, int kind, long word, int side) {
    long ctx = core.enter();
    try {
      return made(Native.callScalar(ctx, op, handle(x), kind, word, side));
    } finally {
      core.exit();
    }
  }

  /** Any number of operands, null for one that is absent, and of results. */
  final List<Tensor> run(int op, Tensor[] inputs, Words words, int outputs) {
    long ctx = core.enter();
    try {
      long[] handles = new long[inputs.length + outputs];
      for (int i = 0; i < inputs.length; i++) {
        handles[i] = handle(orNone(inputs[i]));
      }
      int n = Core.count(words);
      core.reserve(n + handles.length);
      core.attributes(words);
      long attributes = core.reserve(0);
      long operands = core.longs(handles, handles.length, n);
      long results = operands + 8L * inputs.length;
      int status = Native.invoke(ctx, op, operands, inputs.length, attributes, n, results, outputs);
      if (status != 0) {
        throw core.failure();
      }
      List<Tensor> tensors = new ArrayList<>(outputs);
      for (int i = 0; i < outputs; i++) {
        tensors.add(made(core.word(n + inputs.length + i)));
      }
      return tensors;
    } finally {
      core.exit();
    }
  }

  static Tensor[] operands(List<Tensor> last, Tensor... first) {
    Tensor[] all = new Tensor[first.length + last.size()];
    System.arraycopy(first, 0, all, 0, first.length);
    for (int i = 0; i < last.size(); i++) {
      all[first.length + i] = last.get(i);
    }
    return all;
  }
}
