// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dlcore.Optim
{
    /// <summary>Updates variables from their gradients.</summary>
    public abstract unsafe class Optimizer : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_optimizer_release;

        internal Optimizer(Context context, int optimizer, IEnumerable<Variable> parameters, long[] words)
            : base(context, Create(context, optimizer, words))
        {
            AddGroup(parameters, new long[0]); // with the attributes of the optimizer
        }

        /// <summary>Groups of variables that share settings.</summary>
        public long GroupCount => Read(Raw.dlcore_optimizer_group_count);

        /// <summary>Applies the gradients, wholly or not at all, and clears them.</summary>
        public void Step() => Call(Raw.dlcore_optimizer_step);

        /// <summary>Applies the gradients, wholly or not at all, and leaves them.</summary>
        public void StepKeep() => Call(Raw.dlcore_optimizer_step_keep);

        /// <summary>Forgets the gradients.</summary>
        public void ZeroGradients() => Call(Raw.dlcore_optimizer_zero_gradients);

        /// <summary>Scales all gradients so that their norm over all of them together is at most this.</summary>
        /// <param name="maxNorm">the highest norm</param>
        /// <returns>the norm before</returns>
        public Tensor ClipGradients(double maxNorm) => Context.Use(ctx => Context.Made(
            ctx, Raw.dlcore_optimizer_clip_gradients(ctx, Context.Use(this, "optimizer"), maxNorm)));

        /// <summary>The learning rate of a group, an f64 variable of rank 0; assign it to change the rate.</summary>
        /// <param name="group">its number</param>
        /// <returns>the variable</returns>
        public Variable LearningRate(long group = 0) =>
            Lent((ctx, optimizer) => Raw.dlcore_optimizer_learning_rate(ctx, optimizer, group));

        /// <summary>All state (learning rates, step counts, moments), in a fixed order.</summary>
        /// <returns>the variables</returns>
        public IReadOnlyList<Variable> Variables() => Context.Use(ctx =>
        {
            IntPtr optimizer = Context.Use(this, "optimizer");
            var variables = new Variable[Raw.dlcore_optimizer_variable_count(optimizer)];
            for (int i = 0; i < variables.Length; ++i)
            {
                IntPtr variable = Raw.dlcore_optimizer_variable(ctx, optimizer, i);
                if (variable == IntPtr.Zero) throw Context.TakeError(ctx);
                variables[i] = Variable.Borrowed(Context, variable);
            }
            return variables;
        });

        internal void AddGroup(IEnumerable<Variable> parameters, long[] words)
        {
            if (parameters == null) throw new ArgumentNullException(nameof(parameters));
            Variable[] variables = parameters.ToArray();
            Context.Use(ctx =>
            {
                IntPtr optimizer = Context.Use(this, "optimizer");
                var handles = new IntPtr[variables.Length];
                for (int i = 0; i < handles.Length; ++i) handles[i] = Context.Use(variables[i], nameof(parameters));
                fixed (IntPtr* given = handles)
                fixed (long* packed = words)
                {
                    Context.Check(ctx, Raw.dlcore_optimizer_add_group(ctx, optimizer, given, handles.Length, packed, words.Length));
                }
                return 0;
            });
        }

        private static NativeHandle Create(Context context, int optimizer, long[] words)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            return context.Use(ctx =>
            {
                fixed (long* packed = words)
                {
                    IntPtr made = Raw.dlcore_optimizer_create(ctx, optimizer, null, 0, packed, words == null ? 0 : words.Length);
                    if (made == IntPtr.Zero) throw context.TakeError(ctx);
                    return new NativeHandle(made, GiveBack);
                }
            });
        }
    }
}
