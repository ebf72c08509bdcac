// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;

namespace Dlcore
{
    /// <summary>Streams of the program as the library reads and writes them.</summary>
    internal static unsafe class Streams
    {
        private const int Chunk = 1 << 16;
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
            IntPtr id = Callbacks.Keep(stream);
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
                var stream = Callbacks.Find<Stream>(user);
                var buffer = new byte[(int)Math.Min(size, Chunk)];
                for (ulong done = 0; done < size;)
                {
                    int part = (int)Math.Min((ulong)buffer.Length, size - done);
                    new ReadOnlySpan<byte>((byte*)data + done, part).CopyTo(buffer);
                    stream.Write(buffer, 0, part);
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
                var buffer = new byte[(int)Math.Min(size, Chunk)];
                int read = Callbacks.Find<Stream>(user).Read(buffer, 0, buffer.Length);
                new ReadOnlySpan<byte>(buffer, 0, read).CopyTo(new Span<byte>(target, read));
                return read;
            }
            catch (Exception exception)
            {
                return -Callbacks.Caught(exception);
            }
        }
    }
}
