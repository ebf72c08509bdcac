// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.dlcore.internal.Access;
import org.dlcore.internal.Callbacks;
import org.dlcore.internal.Layout;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;

/** Derivatives in both modes, and vectorisation. */
final class Transforms {
  private Transforms() {}

  // ---- Reverse mode

  static List<Tensor> grad(
      Context dl, List<Tensor> outputs, List<Tensor> wrt, List<Tensor> seeds, GradOptions options) {
    if (seeds != null && seeds.size() != outputs.size()) {
      throw new InvalidArgumentException(
          "grad: each output has a seed: seeds are "
              + seeds.size()
              + ", expected "
              + outputs.size());
    }
    List<Tensor> gradients = new ArrayList<>();
    Access.get()
        .value(
            dl,
            null,
            (ctx, self) -> {
              try (Memory out = Memory.of(handles(dl, outputs));
                  Memory leaves = Memory.of(handles(dl, wrt));
                  Memory weights = Memory.of(seeds == null ? new long[0] : handles(dl, seeds));
                  Memory results = Memory.of(new long[wrt.size()]);
                  Memory record = new Memory(Layout.GradOptions.SIZE)) {
                options.write(record.buffer());
                int status =
                    Raw.dlcore_autograd_grad(
                        ctx,
                        out.address(),
                        outputs.size(),
                        leaves.address(),
                        wrt.size(),
                        seeds == null ? 0 : weights.address(),
                        record.address(),
                        results.address());
                if (status != 0) {
                  throw dl.core.failure();
                }
                for (long gradient : results.longs()) {
                  gradients.add(gradient == 0 ? null : dl.made(gradient));
                }
                return 0;
              }
            });
    return gradients;
  }

  private static long[] handles(Context dl, List<Tensor> tensors) {
    long[] handles = new long[tensors.size()];
    for (int i = 0; i < handles.length; i++) {
      Tensor tensor = tensors.get(i);
      handles[i] = tensor == null ? 0 : dl.handle(tensor);
    }
    return handles;
  }

  static Derivative vjp(
      FunctionN function, List<Tensor> inputs, Tensor seed, boolean differentiable) {
    Context dl = inputs.get(0).context;
    List<Tensor> leaves = new ArrayList<>();
    for (Tensor input : inputs) {
      leaves.add(input.requiresGrad() ? input : input.watch());
    }
    Tensor value = function.apply(leaves);
    GradOptions options = new GradOptions().createGraph(differentiable).allowUnused(true);
    List<Tensor> gradients =
        new ArrayList<>(
            grad(dl, List.of(value), leaves, seed == null ? null : List.of(seed), options));
    for (int i = 0; i < gradients.size(); i++) {
      if (gradients.get(i) == null) {
        Tensor input = inputs.get(i);
        gradients.set(i, dl.full(input.shape(), Options.full().dtype(input.dtype())));
      }
    }
    return new Derivative(value, gradients);
  }

  // ---- Levels

  /** A level of forward mode or vectorisation, the innermost one of its context. */
  private static final class Level implements AutoCloseable {
    private final Context dl;
    private final long pointer;

    Level(Context dl, Access.Call open) {
      this.dl = dl;
      this.pointer = Access.get().made(dl, null, open);
    }

    Tensor tensor(Access.Call call) {
      return Access.get().tensor(dl, null, (ctx, self) -> call.run(ctx, pointer));
    }

    @Override
    public void close() {
      Calls.end(dl, (ctx, self) -> Raw.dlcore_transform_close(ctx, pointer));
    }
  }

  static Derivative jvp(FunctionN function, List<Tensor> inputs, List<Tensor> tangents) {
    if (inputs.size() != tangents.size()) {
      throw new InvalidArgumentException(
          "jvp: each input has a tangent: tangents are "
              + tangents.size()
              + ", expected "
              + inputs.size());
    }
    Context dl = inputs.get(0).context;
    try (Level level = new Level(dl, (ctx, self) -> Raw.dlcore_jvp_open(ctx))) {
      List<Tensor> lifted = new ArrayList<>();
      for (int i = 0; i < inputs.size(); i++) {
        Tensor primal = inputs.get(i);
        Tensor tangent = tangents.get(i);
        lifted.add(
            level.tensor(
                (ctx, at) -> Raw.dlcore_jvp_lift(ctx, at, dl.handle(primal), dl.handle(tangent))));
      }
      Tensor result = function.apply(lifted);
      return new Derivative(
          level.tensor((ctx, at) -> Raw.dlcore_jvp_primal(ctx, at, dl.handle(result))),
          List.of(level.tensor((ctx, at) -> Raw.dlcore_jvp_tangent(ctx, at, dl.handle(result)))));
    }
  }

  static Tensor vmap(FunctionN function, long axis, List<Tensor> inputs) {
    Tensor first = inputs.get(0);
    Context dl = first.context;
    long size = first.dim((int) axis);
    try (Level level = new Level(dl, (ctx, self) -> Raw.dlcore_vmap_open(ctx, size))) {
      List<Tensor> lifted = new ArrayList<>();
      for (Tensor input : inputs) {
        lifted.add(
            level.tensor((ctx, at) -> Raw.dlcore_vmap_lift(ctx, at, dl.handle(input), axis)));
      }
      Tensor result = function.apply(lifted);
      return level.tensor((ctx, at) -> Raw.dlcore_vmap_lower(ctx, at, dl.handle(result), axis));
    }
  }

  /** Forward mode over the gradient, along all unit vectors at once. */
  static Tensor hessian(Function1 function, Tensor x) {
    Context dl = x.context;
    long count = x.count();
    long[] shape = x.shape();
    try (Scope scope = dl.scope()) {
      Tensor units = dl.eye(count, Options.eye().dtype(x.dtype()));
      FunctionN gradient =
          at -> vjp(inputs -> function.apply(inputs.get(0)), at, null, false).derivatives().get(0);
      Tensor rows =
          vmap(
              unit ->
                  jvp(gradient, List.of(x), List.of(unit.get(0).reshape(shape)))
                      .derivatives()
                      .get(0),
              0,
              List.of(units));
      long[] twice = Arrays.copyOf(shape, 2 * shape.length);
      System.arraycopy(shape, 0, twice, shape.length, shape.length);
      return scope.keep(rows.reshape(twice));
    }
  }

  // ---- Checking

  static void gradcheck(
      Context dl, FunctionN function, List<Tensor> inputs, int order, double tolerance) {
    long number =
        Callbacks.register(
            (Callbacks.Function)
                (child, given) ->
                    CallbackContext.run(
                        dl.core.engine, child, context -> apply(function, context, given)));
    try {
      Access.get()
          .status(
              dl,
              null,
              (ctx, self) -> {
                try (Memory handles = Memory.of(handles(dl, inputs))) {
                  return Raw.dlcore_gradcheck(
                      ctx,
                      Callbacks.address(Callbacks.FUNCTION),
                      number,
                      handles.address(),
                      inputs.size(),
                      order,
                      tolerance);
                }
              });
    } finally {
      Callbacks.forget(number);
    }
  }

  private static long apply(FunctionN function, Context dl, long[] given) {
    List<Tensor> inputs = new ArrayList<>();
    for (long input : given) {
      inputs.add(CallbackContext.borrow(dl, input));
    }
    return dl.core.retained(function.apply(inputs));
  }
}
