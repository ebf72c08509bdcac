// SPDX-License-Identifier: Apache-2.0
package org.dlcore.optim;

import org.dlcore.Context;
import org.dlcore.Resource;
import org.dlcore.Variable;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Words;

/**
 * Sets the learning rates of an optimizer by a formula of the number of steps and of the rates that
 * its groups had when the schedule was made. It sets them when it is made and at each step, and
 * overwrites what was assigned in between. It keeps the optimizer alive.
 */
public abstract class Schedule extends Resource {
  /** Schedule number `schedule` of the catalogue. */
  Schedule(Context dl, int schedule, Optimizer optimizer, Words words) {
    super(dl, Access.get().own(dl, Handle.Kind.SCHEDULE, create(dl, schedule, optimizer, words)));
  }

  private static long create(Context dl, int schedule, Optimizer optimizer, Words words) {
    return Access.get()
        .made(
            dl,
            optimizer,
            (ctx, self) -> {
              try (Memory packed = words == null ? Memory.of() : words.memory()) {
                int count = words == null ? 0 : words.count();
                return Raw.dlcore_schedule_create(ctx, schedule, self, packed.address(), count);
              }
            });
  }

  /** Counts a step and sets the rates of all groups, wholly or not at all. */
  public void step() {
    Access.get().status(context(), this, Raw::dlcore_schedule_step);
  }

  /**
   * The kind of schedule it is.
   *
   * @return its name in the catalogue, like {@code CosineAnnealingLR}
   */
  public String kind() {
    return Access.get().lentText(context(), this, Raw::dlcore_schedule_kind);
  }

  /**
   * The steps that it has taken: assign it to go on from elsewhere.
   *
   * @return an i64 variable of rank 0
   */
  public Variable count() {
    return Access.get().variable(context(), this, Raw::dlcore_schedule_count);
  }

  /**
   * The base rate of the first group: assign it to change the rates from the next step on.
   *
   * @return an f64 variable of rank 0
   */
  public Variable baseRate() {
    return baseRate(0);
  }

  /**
   * The base rate of a group: assign it to change the rates from the next step on.
   *
   * @param group counted from 0, one that the optimizer had when the schedule was made
   * @return an f64 variable of rank 0
   */
  public Variable baseRate(int group) {
    return Access.get()
        .variable(context(), this, (ctx, self) -> Raw.dlcore_schedule_base_rate(ctx, self, group));
  }
}
