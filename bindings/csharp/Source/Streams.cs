// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;

namespace Dlcore
{
    /// <summary>Streams of the program as the library reads and writes them.</summary>
    internal static unsafe class Streams
    {
        private static readonly dlcore_write_fn WriteFunction = OnWrite;
        private static readonly dlcore_read_fn ReadFunction = OnRead;
        private static readonly IntPtr WriteAddress = Callbacks.Address(WriteFunction);
        private static readonly IntPtr ReadAddress = Callbacks.Address(ReadFunction);

        /// <summary>Makes a call with the function that writes to a stream, and its user data.</summary>
        internal static void Write(Stream stream, Action<IntPtr, IntPtr> call) => With(stream, WriteAddress, call);

        internal static void Read(Stream stream, Action<IntPtr, IntPtr> call) => With(stream, ReadAddress, call);

        private static void With(Stream stream, IntPtr function, Action<IntPtr, IntPtr> call)
        {
            if (stream == null) throw new ArgumentNullException(nameof(stream));
            IntPtr id = Callbacks.Keep(new Kept { Stream = stream });
            try
            {
                call(function, id);
            }
            finally
            {
                Callbacks.Forget(id);
            }
        }

        private static int OnWrite(void* user, void* data, ulong size)
        {
            try
            {
                var kept = Callbacks.Find<Kept>(user);
                for (ulong done = 0; done < size;)
                {
                    int part = (int)Math.Min((ulong)kept.Buffer.Length, size - done);
                    new ReadOnlySpan<byte>((byte*)data + done, part).CopyTo(kept.Buffer);
                    kept.Stream.Write(kept.Buffer, 0, part);
                    done += (ulong)part;
                }
                return 0;
            }
            catch (Exception exception)
            {
                return Callbacks.Caught(exception);
            }
        }

        private static long OnRead(void* user, void* target, ulong size)
        {
            try
            {
                var kept = Callbacks.Find<Kept>(user);
                int read = kept.Stream.Read(kept.Buffer, 0, (int)Math.Min(size, (ulong)kept.Buffer.Length));
                new ReadOnlySpan<byte>(kept.Buffer, 0, read).CopyTo(new Span<byte>(target, read));
                return read;
            }
            catch (Exception exception)
            {
                return -Callbacks.Caught(exception);
            }
        }

        private sealed class Kept
        {
            internal readonly byte[] Buffer = new byte[1 << 16];
            internal Stream Stream;
        }
    }
}
