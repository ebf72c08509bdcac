// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>An object of the library other than a tensor: a module, a variable, a loader... It lives until it is
    /// disposed of, its context is, or nobody refers to it; closing it twice does nothing, using it then is an
    /// <see cref="ObjectDisposedException"/>.</summary>
    public abstract unsafe class Resource : IDisposable
    {
        private readonly NativeHandle native;

        internal Resource(Context context, NativeHandle native)
        {
            Context = context;
            this.native = native;
            context.Own(this);
        }

        /// <summary>One whose making needs to know its class.</summary>
        internal Resource(Context context, Func<Resource, NativeHandle> make)
        {
            Context = context;
            native = make(this);
            context.Own(this);
        }

        /// <summary>The context that it was made on, and that its methods run on.</summary>
        public Context Context { get; }

        /// <summary>Whether it is closed.</summary>
        public bool IsClosed => native.IsClosed;

        /// <summary>Gives it back; at once, or after the calls that use it.</summary>
        public void Dispose()
        {
            native.Dispose();
        }

        /// <summary>The address until it is given back by Release. Calls on a context use Context.Use.</summary>
        internal IntPtr Acquire() => native.Acquire(GetType().Name);

        internal void Release() => native.DangerousRelease();

        /// <summary>Runs a call on it that returns a status.</summary>
        internal void Call(Func<IntPtr, IntPtr, int> call) => Context.Use(ctx =>
        {
            Context.Check(ctx, call(ctx, Context.Use(this, "this")));
            return 0;
        });

        internal delegate int TextCall(IntPtr ctx, IntPtr self, byte* text);

        /// <summary>The same of a call that takes a text.</summary>
        internal void Call(string text, string parameter, TextCall call)
        {
            byte[] bytes = Text.Needed(text, parameter);
            Call((ctx, self) =>
            {
                fixed (byte* given = bytes) return call(ctx, self, given);
            });
        }

        internal delegate int BytesCall(IntPtr ctx, IntPtr self, void* data, ulong size);

        /// <summary>The same of a call that takes bytes.</summary>
        internal void Call(byte[] bytes, string parameter, BytesCall call)
        {
            if (bytes == null) throw new ArgumentNullException(parameter);
            Call((ctx, self) =>
            {
                fixed (byte* data = bytes) return call(ctx, self, data, (ulong)bytes.Length);
            });
        }

        /// <summary>Runs a call on it that lends a variable.</summary>
        internal Variable Lent(Func<IntPtr, IntPtr, IntPtr> call) => Context.Use(ctx =>
        {
            IntPtr variable = call(ctx, Context.Use(this, "this"));
            if (variable == IntPtr.Zero) throw Context.TakeError(ctx);
            return Variable.Borrowed(Context, variable);
        });

        /// <summary>What an accessor that cannot fail answers.</summary>
        internal T Read<T>(Func<IntPtr, T> accessor)
        {
            IntPtr handle = Acquire();
            try
            {
                return accessor(handle);
            }
            finally
            {
                Release();
            }
        }
    }
}
