// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Dlcore
{
    /// <summary>One reference to an object of the library. It is given back once nobody closes or uses it any more, so
    /// that an object closed during a call on another thread lives until that call is over.</summary>
    internal sealed class NativeHandle : SafeHandle
    {
        private readonly Action<IntPtr> release;

        internal NativeHandle(IntPtr value, Action<IntPtr> release)
            : base(IntPtr.Zero, ownsHandle: true)
        {
            this.release = release;
            SetHandle(value);
        }

        /// <inheritdoc/>
        public override bool IsInvalid => handle == IntPtr.Zero;

        /// <summary>The address, for the time between Acquire and DangerousRelease.</summary>
        internal IntPtr Acquire(string what)
        {
            bool acquired = false;
            try
            {
                DangerousAddRef(ref acquired);
            }
            catch (ObjectDisposedException)
            {
                throw new ObjectDisposedException(what, $"{what}: the object is closed");
            }
            return handle;
        }

        /// <inheritdoc/>
        protected override bool ReleaseHandle()
        {
            release(handle);
            return true;
        }
    }
}
