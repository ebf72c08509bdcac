// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;

namespace Dlcore
{
    /// <summary>Tensors under names in a safetensors file.</summary>
    public sealed unsafe class Archive : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_archive_release;

        private Archive(Context context, IntPtr owned)
            : base(context, new NativeHandle(owned, GiveBack))
        {
        }

        /// <summary>The names, sorted.</summary>
        public IReadOnlyList<string> Names => Read(archive =>
        {
            var names = new string[Raw.dlcore_archive_count(archive)];
            for (int i = 0; i < names.Length; ++i) names[i] = Text.From(Raw.dlcore_archive_name(archive, i));
            return names;
        });

        /// <summary>A tensor, on the device of the context.</summary>
        /// <param name="name">one of Names</param>
        public Tensor this[string name]
        {
            get
            {
                byte[] bytes = Text.Needed(name, nameof(name));
                return Context.Use(ctx =>
                {
                    fixed (byte* text = bytes) return Context.Made(ctx, Raw.dlcore_archive_tensor(ctx, Context.Use(this, "archive"), text));
                });
            }
        }

        /// <summary>Opens a file.</summary>
        /// <param name="context">whose device tensors come to</param>
        /// <param name="path">of the file</param>
        /// <returns>the archive</returns>
        public static Archive Open(Context context, string path)
        {
            byte[] bytes = Text.Needed(path, nameof(path));
            return Opened(context, ctx =>
            {
                fixed (byte* text = bytes) return Raw.dlcore_archive_open(ctx, text);
            });
        }

        /// <summary>Opens a copy of the bytes of a file.</summary>
        /// <param name="context">whose device tensors come to</param>
        /// <param name="bytes">the whole file</param>
        /// <returns>the archive</returns>
        public static Archive Open(Context context, byte[] bytes)
        {
            if (bytes == null) throw new ArgumentNullException(nameof(bytes));
            return Opened(context, ctx =>
            {
                fixed (byte* data = bytes) return Raw.dlcore_archive_open_buffer(ctx, data, (ulong)bytes.Length);
            });
        }

        /// <summary>Reads a stream to its end.</summary>
        /// <param name="context">whose device tensors come to</param>
        /// <param name="stream">where from</param>
        /// <returns>the archive</returns>
        public static Archive Open(Context context, Stream stream)
        {
            Archive opened = null;
            Streams.Read(stream, (read, user) =>
                opened = Opened(context, ctx => Raw.dlcore_archive_open_stream(ctx, read, (void*)user)));
            return opened;
        }

        /// <summary>Writes tensors under their names; the file is replaced as a whole or not at all.</summary>
        /// <param name="context">that of the tensors</param>
        /// <param name="path">of the file</param>
        /// <param name="tensors">name and tensor</param>
        public static void Save(Context context, string path, IEnumerable<KeyValuePair<string, Tensor>> tensors)
        {
            byte[] bytes = Text.Needed(path, nameof(path));
            Write(context, tensors, (ctx, names, handles, count) =>
            {
                fixed (byte* text = bytes) return Raw.dlcore_archive_save(ctx, text, names, handles, count);
            });
        }

        /// <summary>Writes tensors under their names.</summary>
        /// <param name="context">that of the tensors</param>
        /// <param name="stream">where to</param>
        /// <param name="tensors">name and tensor</param>
        public static void Save(Context context, Stream stream, IEnumerable<KeyValuePair<string, Tensor>> tensors) =>
            Streams.Write(stream, (write, user) => Write(context, tensors, (ctx, names, handles, count) =>
                Raw.dlcore_archive_write(ctx, write, (void*)user, names, handles, count)));

        private delegate int Writer(IntPtr ctx, byte** names, IntPtr* tensors, long count);

        private static void Write(Context context, IEnumerable<KeyValuePair<string, Tensor>> tensors, Writer write)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            if (tensors == null) throw new ArgumentNullException(nameof(tensors));
            KeyValuePair<string, Tensor>[] items = tensors.ToArray();
            GCHandle[] pinned = items.Select(item => GCHandle.Alloc(Text.Needed(item.Key, "name"), GCHandleType.Pinned)).ToArray();
            IntPtr[] names = Array.ConvertAll(pinned, handle => handle.AddrOfPinnedObject());
            try
            {
                context.Use(ctx =>
                {
                    fixed (IntPtr* texts = names, handles = context.Addresses(items.Select(item => item.Value).ToArray()))
                    {
                        context.Check(ctx, write(ctx, (byte**)texts, handles, items.Length));
                    }
                    return 0;
                });
            }
            finally
            {
                foreach (GCHandle handle in pinned) handle.Free();
            }
        }

        private static Archive Opened(Context context, Func<IntPtr, IntPtr> open)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            return context.Use(ctx =>
            {
                IntPtr opened = open(ctx);
                if (opened == IntPtr.Zero) throw context.TakeError(ctx);
                return new Archive(context, opened);
            });
        }
    }
}
