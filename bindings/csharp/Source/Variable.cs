// SPDX-License-Identifier: Apache-2.0
using System;
using Dlcore.Nn;

namespace Dlcore
{
    /// <summary>A named, mutable cell that holds a tensor: a parameter, a running mean, a learning rate. Reading and
    /// assigning are atomic, from any thread.</summary>
    public sealed unsafe class Variable : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_variable_release;

        /// <summary>A variable that starts with a value.</summary>
        /// <param name="context">where it is made</param>
        /// <param name="name">its name, by which graphs are bound to it</param>
        /// <param name="value">the first value; its history is not kept</param>
        /// <param name="trainable">whether gradients are gathered for it</param>
        public Variable(Context context, string name, Tensor value, bool trainable = true)
            : base(context, Create(context, name, value, trainable))
        {
        }

        private Variable(Context context, IntPtr owned)
            : base(context, new NativeHandle(owned, GiveBack))
        {
        }

        /// <summary>Its name.</summary>
        public string Name => Read(variable => Text.From(Raw.dlcore_variable_name(variable)));

        /// <summary>Whether gradients are gathered for it.</summary>
        public bool IsTrainable
        {
            get => Read(Raw.dlcore_variable_is_trainable) == 1;
            set => Call((ctx, variable) => Raw.dlcore_variable_set_trainable(ctx, variable, value ? 1 : 0));
        }

        /// <summary>Its value; while recording, a leaf of the history.</summary>
        public Tensor Value => On(Context);

        /// <summary>Its value on a context, such as that of a module's input; while recording, a leaf of the history.</summary>
        /// <param name="context">whose scope then owns the tensor</param>
        /// <returns>the value</returns>
        public Tensor On(Context context)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            Variable variable = CustomModule.Substitute(this);
            return context.Use(ctx => context.Made(ctx, Raw.dlcore_variable_read(ctx, context.Use(variable, "variable"))));
        }

        /// <summary>What backward gathered; null when there is nothing. Setting null forgets it.</summary>
        public Tensor Gradient
        {
            get => Context.Use(ctx =>
            {
                IntPtr gradient = Raw.dlcore_variable_gradient(ctx, Context.Use(this, "variable"));
                if (gradient != IntPtr.Zero) return Context.Track(gradient);
                Context.Check(ctx, Raw.dlcore_context_status(ctx));
                return null;
            });
            set => Call((ctx, variable) => Raw.dlcore_variable_set_gradient(
                ctx, variable, value == null ? IntPtr.Zero : Context.Use(value, nameof(value))));
        }

        /// <summary>Stores a value of the same dtype and shape, without its history.</summary>
        /// <param name="value">the value</param>
        public void Assign(Tensor value) =>
            Call((ctx, variable) => Raw.dlcore_variable_assign(ctx, variable, Context.Use(value, nameof(value))));

        /// <summary>Adds to the value.</summary>
        /// <param name="value">of the same dtype and shape</param>
        public void Accumulate(Tensor value) =>
            Call((ctx, variable) => Raw.dlcore_variable_accumulate(ctx, variable, Context.Use(value, nameof(value))));

        /// <summary>A new reference to a variable that the library lent.</summary>
        internal static Variable Borrowed(Context context, IntPtr borrowed)
        {
            Raw.dlcore_variable_retain(borrowed);
            return new Variable(context, borrowed);
        }

        private static NativeHandle Create(Context context, string name, Tensor value, bool trainable)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            byte[] bytes = Text.Needed(name, nameof(name));
            return context.Use(ctx =>
            {
                fixed (byte* text = bytes)
                {
                    ulong flags = trainable ? (ulong)Raw.DLCORE_VARIABLE_TRAINABLE : 0;
                    IntPtr made = Raw.dlcore_variable_create(ctx, text, context.Use(value, nameof(value)), flags);
                    if (made == IntPtr.Zero) throw context.TakeError(ctx);
                    return new NativeHandle(made, GiveBack);
                }
            });
        }
    }
}
