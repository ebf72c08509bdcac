// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore.Optim
{
    /// <summary>Learning rates that follow the number of steps. It belongs to an optimizer, and sets the rates of its groups
    /// when it is made and at each of its steps.</summary>
    public abstract unsafe class Schedule : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_schedule_release;

        internal Schedule(Context context, int schedule, Optimizer optimizer, long[] words)
            : base(context, Create(context, schedule, optimizer, words))
        {
        }

        /// <summary>Name of the schedule in the catalogue.</summary>
        public string Kind => Read(schedule => Text.From(Raw.dlcore_schedule_kind(schedule)));

        /// <summary>Steps taken, an i64 variable of rank 0; the next step goes on from what is assigned to it.</summary>
        public Variable Count => Lent(Raw.dlcore_schedule_count);

        /// <summary>Sets the rates to those of the next count, all of them or none.</summary>
        public void Step() => Call(Raw.dlcore_schedule_step);

        /// <summary>The base rate of a group, an f64 variable of rank 0; assigning it changes the rates from the next step
        /// on.</summary>
        /// <param name="group">its number</param>
        /// <returns>the variable</returns>
        public Variable BaseRate(long group = 0) => Lent((ctx, schedule) => Raw.dlcore_schedule_base_rate(ctx, schedule, group));

        private static NativeHandle Create(Context context, int schedule, Optimizer optimizer, long[] words)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            return context.Use(ctx =>
            {
                fixed (long* packed = words)
                {
                    IntPtr made = Raw.dlcore_schedule_create(
                        ctx, schedule, context.Use(optimizer, nameof(optimizer)), packed, words == null ? 0 : words.Length);
                    if (made == IntPtr.Zero) throw context.TakeError(ctx);
                    return new NativeHandle(made, GiveBack);
                }
            });
        }
    }
}
