// SPDX-License-Identifier: Apache-2.0
package org.dlcore.optim;

import java.util.ArrayList;
import java.util.List;
import org.dlcore.Context;
import org.dlcore.Resource;
import org.dlcore.Tensor;
import org.dlcore.Variable;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;
import org.dlcore.internal.ModuleParameters;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Words;

/** Updates variables from their gradients. */
public abstract class Optimizer extends Resource {
  /** Optimizer number `optimizer` of the catalogue. */
  Optimizer(Context dl, int optimizer, List<Variable> parameters, Words words) {
    super(
        dl, Access.get().own(dl, Handle.Kind.OPTIMIZER, create(dl, optimizer, parameters, words)));
    if (!(parameters instanceof ModuleParameters)) {
      addGroup(parameters, words);
    }
  }

  private static long create(Context dl, int optimizer, List<Variable> parameters, Words words) {
    List<Resource> modules =
        parameters instanceof ModuleParameters all ? List.of(all.module()) : List.of();
    return Access.get()
        .withHandles(
            dl,
            modules,
            (ctx, handles) -> {
              try (Memory packed = words.memory()) {
                return Raw.dlcore_optimizer_create(
                    ctx, optimizer, handles, modules.size(), packed.address(), words.count());
              }
            });
  }

  final void addGroup(List<Variable> parameters, Words words) {
    Access.get()
        .status(
            context(),
            this,
            (ctx, self) ->
                Access.get()
                    .inside(
                        parameters,
                        handles -> {
                          try (Memory packed = words.memory()) {
                            return Raw.dlcore_optimizer_add_group(
                                ctx,
                                self,
                                handles,
                                parameters.size(),
                                packed.address(),
                                words.count());
                          }
                        }));
  }

  /** Applies the gradients of its variables, wholly or not at all, and consumes them. */
  public void step() {
    Access.get().status(context(), this, Raw::dlcore_optimizer_step);
  }

  /** Applies the gradients of its variables and leaves them. */
  public void stepKeep() {
    Access.get().status(context(), this, Raw::dlcore_optimizer_step_keep);
  }

  /** Forgets the gradients. */
  public void zeroGradients() {
    Access.get().status(context(), this, Raw::dlcore_optimizer_zero_gradients);
  }

  /**
   * Scales all gradients so that their norm, all together, is at most a limit.
   *
   * @param maxNorm the limit
   * @return the norm before, of rank 0
   */
  public Tensor clipGradients(double maxNorm) {
    return Access.get()
        .tensor(
            context(),
            this,
            (ctx, self) -> Raw.dlcore_optimizer_clip_gradients(ctx, self, maxNorm));
  }

  /**
   * The number of groups of variables.
   *
   * @return the number
   */
  public int groups() {
    return (int)
        Access.get().value(context(), this, (ctx, self) -> Raw.dlcore_optimizer_group_count(self));
  }

  /**
   * The learning rate of the first group: assign it to change the rate.
   *
   * @return an f64 variable of rank 0
   */
  public Variable learningRate() {
    return learningRate(0);
  }

  /**
   * The learning rate of a group: assign it to change the rate.
   *
   * @param group counted from 0
   * @return an f64 variable of rank 0
   */
  public Variable learningRate(int group) {
    return Access.get()
        .variable(
            context(), this, (ctx, self) -> Raw.dlcore_optimizer_learning_rate(ctx, self, group));
  }

  /**
   * All of its state: learning rates, numbers of steps, moments.
   *
   * @return the variables in a fixed order
   */
  public List<Variable> variables() {
    List<Variable> variables = new ArrayList<>();
    Access.get()
        .value(
            context(),
            this,
            (ctx, self) -> {
              long count = Raw.dlcore_optimizer_variable_count(self);
              for (long i = 0; i < count; i++) {
                long variable = Raw.dlcore_optimizer_variable(ctx, self, i);
                variables.add(Access.get().borrowed(context(), variable));
              }
              return 0;
            });
    return variables;
  }
}
