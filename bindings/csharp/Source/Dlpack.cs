// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>How elements cross to other libraries of the process.</summary>
    [Flags]
    public enum DlpackFlags : ulong
    {
        /// <summary>shared and read-only</summary>
        None = 0,
        /// <summary>export: elements of its own, which may be written to</summary>
        Copy = Raw.DLCORE_DLPACK_COPY,
        /// <summary>import: no copy; nobody writes to the elements from now on</summary>
        Borrow = Raw.DLCORE_DLPACK_BORROW,
        /// <summary>a DLManagedTensor, as before DLPack 1.0</summary>
        Unversioned = Raw.DLCORE_DLPACK_UNVERSIONED,
        /// <summary>export: row-major without gaps</summary>
        Contiguous = Raw.DLCORE_DLPACK_CONTIGUOUS,
    }

    public sealed unsafe partial class Tensor
    {
        /// <summary>A new DLManagedTensorVersioned with its elements, which keeps them alive.</summary>
        /// <param name="flags">how it crosses</param>
        /// <returns>its address; whoever takes it gives it back by its deleter</returns>
        public IntPtr ToDlpack(DlpackFlags flags = DlpackFlags.None) => Context.Use(ctx =>
        {
            ulong address = 0;
            Context.Check(ctx, Raw.dlcore_tensor_to_dlpack(ctx, Context.Use(this, "tensor"), (ulong)flags, &address));
            return new IntPtr(unchecked((long)address));
        });
    }

    public sealed unsafe partial class Context
    {
        /// <summary>A tensor with the elements of a managed tensor of DLPack in host memory, which it takes over; on
        /// failure it stays the caller's.</summary>
        /// <param name="address">of the managed tensor</param>
        /// <param name="flags">how it crosses</param>
        /// <returns>the tensor</returns>
        public Tensor FromDlpack(IntPtr address, DlpackFlags flags = DlpackFlags.None) =>
            Use(ctx => Made(ctx, Raw.dlcore_tensor_from_dlpack(ctx, unchecked((ulong)address.ToInt64()), (ulong)flags)));
    }
}
