// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>An object of the library other than a tensor: a module, a variable, a loader... It lives until it is
    /// disposed of, its context is, or nobody refers to it; closing it twice does nothing, using it then is an
    /// <see cref="ObjectDisposedException"/>.</summary>
    public abstract class Resource : IDisposable
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
