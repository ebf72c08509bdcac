// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Dlcore
{
    // Modes, random numbers, cancellation.
    public sealed unsafe partial class Context
    {
        private CancellationToken token;

        /// <summary>Whether history is kept for gradients.</summary>
        public bool IsRecording => Use(ctx => Raw.dlcore_context_is_recording(ctx) == 1);

        /// <summary>Whether it is in training mode.</summary>
        public bool IsTraining => Use(ctx => Raw.dlcore_context_is_training(ctx) == 1);

        /// <summary>Keeps no history until it is disposed of.</summary>
        /// <returns>what restores the mode</returns>
        public IDisposable NoGrad() => Modes(recording: false, training: IsTraining);

        /// <summary>Keeps no history, and runs layers as for inference, until it is disposed of.</summary>
        /// <returns>what restores the modes</returns>
        public IDisposable Inference() => Modes(recording: false, training: false);

        /// <summary>Both modes until it is disposed of.</summary>
        /// <param name="recording">whether history is kept for gradients</param>
        /// <param name="training">whether layers run as in training</param>
        /// <returns>what restores the modes</returns>
        public IDisposable Modes(bool recording, bool training)
        {
            int recorded = 0, trained = 0;
            Use(ctx =>
            {
                recorded = Raw.dlcore_context_set_recording(ctx, recording ? 1 : 0);
                return trained = Raw.dlcore_context_set_training(ctx, training ? 1 : 0);
            });
            return new Restore(() =>
            {
                if (IsClosed) return;
                Use(ctx =>
                {
                    Raw.dlcore_context_set_recording(ctx, recorded);
                    return Raw.dlcore_context_set_training(ctx, trained);
                });
            });
        }

        /// <summary>Starts the random generator anew.</summary>
        /// <param name="seed">decides all numbers that follow</param>
        public void ManualSeed(ulong seed) => Use(ctx =>
        {
            Check(ctx, Raw.dlcore_context_set_seed(ctx, seed));
            return 0;
        });

        /// <summary>The state of the random generator: seed, generator, next call; an i64 variable of shape [3].</summary>
        public Variable Generator => Use(ctx =>
        {
            IntPtr variable = Raw.dlcore_context_generator(ctx);
            if (variable == IntPtr.Zero) throw TakeError(ctx);
            return Variable.Borrowed(this, variable);
        });

        /// <summary>Waits until the device has done all work of this context, and reports its first late failure.</summary>
        public void Synchronize() => Use(ctx =>
        {
            Check(ctx, Raw.dlcore_context_synchronize(ctx));
            return 0;
        });

        /// <summary>From any thread: the call that runs, or else the next one, fails with
        /// <see cref="CancelledException"/>.</summary>
        public void Cancel()
        {
            if (native == null) throw new FailedPreconditionException("cancel: the context is a callback's, expected the outer one");
            IntPtr ctx = native.Acquire(nameof(Context));
            Raw.dlcore_context_cancel(ctx);
            native.DangerousRelease();
        }

        /// <summary>Until it is disposed of, cancelling the token makes the call that runs fail with
        /// <see cref="OperationCanceledException"/>.</summary>
        /// <param name="cancellation">the token to heed</param>
        /// <returns>what ends it</returns>
        public IDisposable CancelWith(CancellationToken cancellation)
        {
            CancellationToken outer = token;
            token = cancellation;
            CancellationTokenRegistration registration = cancellation.Register(() =>
            {
                if (!IsClosed) Cancel();
            });
            return new Restore(() =>
            {
                registration.Dispose();
                token = outer;
                if (cancellation.IsCancellationRequested && !IsClosed) ForgetCancellation();
            });
        }

        /// <summary>Until it is disposed of, calls fail with <see cref="DeadlineExceededException"/> once that time has
        /// passed.</summary>
        /// <param name="time">from now</param>
        /// <returns>what lifts the deadline</returns>
        public IDisposable Deadline(TimeSpan time)
        {
            SetDeadline(Math.Max(0, (long)time.TotalMilliseconds));
            return new Restore(() =>
            {
                if (IsClosed) return;
                try
                {
                    SetDeadline(-1);
                }
                catch (DeadlineExceededException)
                {
                    SetDeadline(-1); // it passed without a call that met it
                }
            });
        }

        private void SetDeadline(long milliseconds) => Use(ctx =>
        {
            Check(ctx, Raw.dlcore_context_set_deadline(ctx, milliseconds));
            return 0;
        });

        /// <summary>A cancellation that came too late for the work it was meant for must not hit what follows.</summary>
        private void ForgetCancellation() => Use(ctx =>
        {
            Raw.dlcore_context_synchronize(ctx);
            Raw.dlcore_context_clear_error(ctx);
            return 0;
        });

        private Exception Translate(DlcoreException failure) =>
            failure.Code == StatusCode.Cancelled && token.IsCancellationRequested
                ? (Exception)new OperationCanceledException(failure.Message, failure, token)
                : failure;
    }
}
