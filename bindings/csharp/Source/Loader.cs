// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;

namespace Dlcore
{
    /// <summary>Batches of samples and labels. A loop over it goes on where it stands, to the end of the epoch. Each turn
    /// of the loop is a scope: the batch, and what the turn made, go back at the next one, on break and on an
    /// exception.</summary>
    public sealed unsafe class Loader : Resource, IEnumerable<ValueTuple<Tensor, Tensor>>
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_loader_release;

        internal Loader(Context context, IntPtr owned)
            : base(context, new NativeHandle(owned, GiveBack))
        {
        }

        /// <summary>Samples in an epoch.</summary>
        public long Samples => Read(Raw.dlcore_loader_samples);

        /// <summary>Batches in an epoch.</summary>
        public long Batches => Read(Raw.dlcore_loader_batches);

        /// <summary>The current epoch, counted from 0.</summary>
        public long Epoch => Read(Raw.dlcore_loader_epoch);

        /// <summary>Starts an epoch, or goes on within it.</summary>
        /// <param name="epoch">counted from 0</param>
        /// <param name="batch">the next one, counted from 0</param>
        public void Seek(long epoch, long batch = 0) => Call((ctx, loader) => Raw.dlcore_loader_seek(ctx, loader, epoch, batch));

        /// <summary>Prepares batches ahead on a thread of the loader's own.</summary>
        /// <param name="batches">how many; 0 for none</param>
        /// <returns>the loader</returns>
        public Loader Prefetch(long batches)
        {
            Call((ctx, loader) => Raw.dlcore_loader_set_prefetch(ctx, loader, batches));
            return this;
        }

        /// <summary>The rest of the epoch; at its end, the next one.</summary>
        /// <returns>the turns of a loop</returns>
        public IEnumerator<ValueTuple<Tensor, Tensor>> GetEnumerator() => new Enumerator(this);

        /// <inheritdoc/>
        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        private (Tensor, Tensor)? Next()
        {
            IntPtr ctx = Context.Enter();
            try
            {
                IntPtr x = IntPtr.Zero, y = IntPtr.Zero;
                if (Raw.dlcore_loader_next(ctx, Context.Use(this, "loader"), &x, &y) == 1) return (Context.Track(x), Context.Track(y));
                Context.Check(ctx, Raw.dlcore_context_status(ctx));
                return null;
            }
            finally
            {
                Context.Leave();
            }
        }

        /// <summary>A loop over a loader.</summary>
        private sealed class Enumerator : IEnumerator<ValueTuple<Tensor, Tensor>>
        {
            private readonly Loader loader;
            private Scope turn;

            internal Enumerator(Loader loader)
            {
                this.loader = loader;
            }

            /// <summary>Samples and labels.</summary>
            public (Tensor, Tensor) Current { get; private set; }

            /// <inheritdoc/>
            object IEnumerator.Current => Current;

            /// <summary>Ends the turn, and goes on to the next one.</summary>
            /// <returns>whether there is one</returns>
            public bool MoveNext()
            {
                if (turn == null || turn.IsClosed) turn = loader.Context.Scope();
                else turn.Reset();
                ValueTuple<Tensor, Tensor>? batch = loader.Next();
                if (batch == null) Dispose();
                else Current = batch.Value;
                return batch != null;
            }

            /// <summary>Ends the loop.</summary>
            public void Dispose()
            {
                turn?.Dispose();
                turn = null;
                Current = default((Tensor, Tensor));
            }

            /// <summary>Not to be had: use Seek.</summary>
            public void Reset() => throw new NotSupportedException("loader: a loop cannot start again; use Seek");
        }
    }
}
