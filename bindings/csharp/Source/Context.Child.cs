// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    // The context that the library lends to a callback.
    public sealed unsafe partial class Context
    {
        /// <summary>Runs a callback on a child context, and gives the code to return. What the callback made is given back,
        /// and what it throws becomes the error of the child.</summary>
        internal static int RunChild<T>(void* user, IntPtr borrowed, Func<T, Engine> engineOf, Action<T, Context> body)
        {
            Context child = null;
            try
            {
                T kept = Callbacks.Find<T>(user);
                child = new Context(engineOf(kept), borrowed);
                body(kept, child);
                return 0;
            }
            catch (Exception exception) // none may cross the library
            {
                int code = Callbacks.Caught(exception);
                fixed (byte* text = Text.Lossy(exception.Message)) Raw.dlcore_context_set_error(borrowed, code, text);
                return code;
            }
            finally
            {
                child?.Dispose();
            }
        }

        /// <summary>A tensor that is the library's, for the length of the callback.</summary>
        internal Tensor Borrow(IntPtr address)
        {
            if (address == IntPtr.Zero) return null;
            Raw.dlcore_tensor_retain(address);
            Enter();
            Tensor tensor = Track(address);
            Leave();
            return tensor;
        }

        /// <summary>A reference of the library's own to a tensor of this context.</summary>
        internal IntPtr GiveAway(Tensor tensor)
        {
            Enter();
            try
            {
                IntPtr address = Use(tensor, "result");
                Raw.dlcore_tensor_retain(address);
                return address;
            }
            finally
            {
                Leave();
            }
        }
    }
}
