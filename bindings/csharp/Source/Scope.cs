// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>Owns the tensors that its context makes while it is the innermost one, and gives them back together when
    /// it is disposed of. Scopes nest; a context has one from the start, which ends with it.</summary>
    public sealed unsafe class Scope : IDisposable
    {
        private const int Batch = 256; // tensors given back in one crossing
        private const int Many = 10000;
        private readonly Context context;
        private Tensor[] tensors = new Tensor[64]; // also such as were closed already
        private int count;

        internal Scope(Context context, Scope parent)
        {
            this.context = context;
            Parent = parent;
        }

        /// <summary>The enclosing one; null for the context's own.</summary>
        internal Scope Parent { get; }

        internal bool IsClosed { get; private set; }

        /// <summary>Tensors that it would give back.</summary>
        public int Count
        {
            get
            {
                int live = 0;
                for (int i = 0; i < count; ++i) live += tensors[i].IsClosed ? 0 : 1;
                return live;
            }
        }

        /// <summary>Moves a tensor to the enclosing scope.</summary>
        /// <param name="tensor">one of this scope or of one inside it</param>
        /// <returns>the tensor</returns>
        public Tensor Keep(Tensor tensor) => context.Keep(this, tensor);

        /// <summary>Gives back what it owns, and what the scopes inside it own; it stays open, they close.</summary>
        public void Reset() => context.Reset(this, close: false);

        /// <summary>Gives back what it owns, and closes it and the scopes inside it.</summary>
        public void Dispose() => context.Reset(this, close: true);

        // What follows runs while the context is entered.

        internal void Track(Tensor tensor)
        {
            if (count == tensors.Length) MakeRoom();
            tensors[count++] = tensor;
        }

        /// <summary>Forgets a tensor without giving it back; false when it is not one of its own.</summary>
        internal bool Forget(Tensor tensor)
        {
            int at = count - 1;
            while (at >= 0 && tensors[at] != tensor) --at;
            if (at < 0) return false;
            --count;
            Array.Copy(tensors, at + 1, tensors, at, count - at);
            tensors[count] = null;
            return true;
        }

        internal void ReleaseAll()
        {
            IntPtr* handles = stackalloc IntPtr[Batch];
            int filled = 0;
            for (int i = 0; i < count; ++i)
            {
                IntPtr handle = tensors[i].Detach();
                tensors[i] = null;
                if (handle == IntPtr.Zero) continue;
                handles[filled++] = handle;
                if (filled < Batch) continue;
                Raw.dlcore_tensor_release_many(handles, filled);
                filled = 0;
            }
            count = 0;
            if (filled != 0) Raw.dlcore_tensor_release_many(handles, filled);
        }

        internal void Close() => IsClosed = true;

        private void MakeRoom()
        {
            int live = 0;
            for (int i = 0; i < count; ++i)
            {
                if (!tensors[i].IsClosed) tensors[live++] = tensors[i];
            }
            Array.Clear(tensors, live, count - live);
            count = live;
            if (live > tensors.Length / 2) Array.Resize(ref tensors, tensors.Length * 2);
            if (live > Many && Parent == null) context.WarnOfMany(live);
        }
    }
}
