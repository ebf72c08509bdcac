// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>A failure of the engine. There is a class for each code; <see cref="Exception.InnerException"/> is the
    /// error that led to it, or the exception that a callback threw.</summary>
    public abstract unsafe partial class DlcoreException : Exception
    {
        /// <summary>What a callback threw during the call that is failing on this thread.</summary>
        [ThreadStatic]
        private static Exception thrownByCallback;

        internal DlcoreException(StatusCode code, string message, string op, Exception cause)
            : base(message, cause)
        {
            Code = code;
            Op = op ?? "";
        }

        /// <summary>The code.</summary>
        public StatusCode Code { get; }

        /// <summary>Name of the op that failed; empty when the failing call was none.</summary>
        public string Op { get; }

        /// <summary>Takes over an error of the library, which is released. Zero stands for a failure without one.</summary>
        internal static DlcoreException Take(IntPtr error, string what)
        {
            Exception cause = thrownByCallback;
            thrownByCallback = null;
            if (error == IntPtr.Zero) return new InternalException($"{what}: the call failed without saying why", "", cause);
            DlcoreException exception = From(error, cause);
            Raw.dlcore_error_release(error);
            if (cause == null || exception.Message.Contains(cause.Message)) return exception;
            return OfCode((int)exception.Code, $"{exception.Message}: {cause.Message}", exception.Op, exception.InnerException);
        }

        /// <summary>Keeps what a callback threw for the call that it makes fail.</summary>
        internal static void Remember(Exception exception) => thrownByCallback = exception;

        private static DlcoreException From(IntPtr error, Exception last)
        {
            IntPtr next = Raw.dlcore_error_cause(error);
            return OfCode(Raw.dlcore_error_code(error), Text.From(Raw.dlcore_error_message(error)),
                          Text.From(Raw.dlcore_error_op(error)), next == IntPtr.Zero ? last : From(next, last));
        }
    }
}
