// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Concurrent;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;

namespace Dlcore
{
    /// <summary>What the library calls back with: a number that stands for an object of the program.</summary>
    internal static unsafe class Callbacks
    {
        private static readonly ConcurrentDictionary<long, object> Kept = new ConcurrentDictionary<long, object>();
        private static readonly DestroyFunction Destroy = user => Forget(user);
        private static long last;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void DestroyFunction(IntPtr user);

        /// <summary>What forgets a kept object when the library needs it no more.</summary>
        internal static readonly IntPtr DestroyAddress = Address(Destroy);

        /// <summary>Address of a function that lives as long as the process; its delegate is in a static field.</summary>
        internal static IntPtr Address<T>(T function) => Marshal.GetFunctionPointerForDelegate(function);

        /// <summary>Keeps an object, and gives its number as user data.</summary>
        internal static IntPtr Keep(object kept)
        {
            long id = Interlocked.Increment(ref last);
            Kept[id] = kept;
            return new IntPtr(id);
        }

        internal static void Forget(IntPtr id) => Kept.TryRemove(id.ToInt64(), out object _);

        /// <summary>The object of that number. Never null while the library may call back.</summary>
        internal static T Find<T>(void* user) => (T)Kept[(long)user];

        /// <summary>Keeps what a callback threw for the call that it makes fail, and gives the code to fail with.</summary>
        internal static int Caught(Exception exception)
        {
            DlcoreException.Remember(exception);
            return (int)CodeOf(exception);
        }

        private static StatusCode CodeOf(Exception exception)
        {
            if (exception is DlcoreException ours) return ours.Code;
            if (exception is OperationCanceledException) return StatusCode.Cancelled;
            if (exception is FileNotFoundException) return StatusCode.NotFound;
            if (exception is UnauthorizedAccessException) return StatusCode.PermissionDenied;
            if (exception is EndOfStreamException) return StatusCode.DataLoss;
            if (exception is OutOfMemoryException) return StatusCode.ResourceExhausted;
            if (exception is ArgumentException) return StatusCode.InvalidArgument;
            return exception is NotImplementedException ? StatusCode.Unimplemented : StatusCode.Unknown;
        }
    }
}
