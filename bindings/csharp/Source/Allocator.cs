// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>Memory for the elements of tensors, from the program. Both functions are called from any thread that uses
    /// the engine, at the same time, and must not call the library.</summary>
    public interface IAllocator
    {
        /// <summary>Gives memory; the engine keeps what is freed for reuse.</summary>
        /// <param name="bytes">how many; a multiple of the alignment</param>
        /// <param name="alignment">of the address</param>
        /// <returns>the address; zero when there is no memory</returns>
        IntPtr Allocate(long bytes, long alignment);

        /// <summary>Takes memory back.</summary>
        /// <param name="address">what Allocate gave</param>
        /// <param name="bytes">how many it was asked for</param>
        void Deallocate(IntPtr address, long bytes);
    }

    /// <summary>Crosses to an allocator of the program.</summary>
    internal static unsafe class Allocators
    {
        private static readonly dlcore_allocate_fn AllocateFunction = OnAllocate;
        private static readonly dlcore_deallocate_fn DeallocateFunction = OnDeallocate;
        private static readonly IntPtr AllocateAddress = Callbacks.Address(AllocateFunction);
        private static readonly IntPtr DeallocateAddress = Callbacks.Address(DeallocateFunction);

        internal static IntPtr Open(dlcore_engine_options* options, IAllocator allocator, IntPtr* error) =>
            Raw.dlcore_engine_open_with_allocator(
                options, AllocateAddress, DeallocateAddress, (void*)Callbacks.Keep(allocator), Callbacks.DestroyAddress, error);

        private static void* OnAllocate(void* user, ulong bytes, ulong alignment)
        {
            try
            {
                return (void*)Callbacks.Find<IAllocator>(user).Allocate((long)bytes, (long)alignment);
            }
            catch (Exception)
            {
                return null; // the engine reports that there is no memory
            }
        }

        private static void OnDeallocate(void* user, void* address, ulong bytes)
        {
            try
            {
                Callbacks.Find<IAllocator>(user).Deallocate(new IntPtr(address), (long)bytes);
            }
            catch (Exception)
            {
                // No call is there to fail: the memory stays with the allocator.
            }
        }
    }
}
