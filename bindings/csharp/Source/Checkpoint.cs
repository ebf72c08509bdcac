// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Dlcore.Nn;
using Dlcore.Optim;

namespace Dlcore
{
    /// <summary>The whole state of a training in one file, from which it goes on as if nothing had happened. What belongs
    /// to it is told once; the generator of its context always does.</summary>
    public sealed unsafe class Checkpoint : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_checkpoint_release;

        /// <summary>One to which nothing but the generator belongs yet.</summary>
        /// <param name="context">whose generator it keeps</param>
        public Checkpoint(Context context)
            : base(context, Create(context))
        {
        }

        /// <summary>After a load: why what follows may differ from the training that was saved; empty when nothing has
        /// changed.</summary>
        public string Warning => Read(checkpoint => Text.From(Raw.dlcore_checkpoint_warning(checkpoint)));

        /// <summary>A text of the program's that is saved with the rest; null when there is none, or to take it out.</summary>
        /// <param name="key">one that does not start with "dlcore."</param>
        public string this[string key]
        {
            get
            {
                byte[] name = Text.Needed(key, nameof(key));
                return Read(checkpoint =>
                {
                    fixed (byte* text = name)
                    {
                        byte* found = Raw.dlcore_checkpoint_text(checkpoint, text);
                        return found == null ? null : Text.From(found);
                    }
                });
            }
            set
            {
                byte[] text = Text.Bytes(value, nameof(value));
                Named(key, (ctx, checkpoint, name) =>
                {
                    fixed (byte* bytes = text) return Raw.dlcore_checkpoint_set_text(ctx, checkpoint, name, bytes);
                });
            }
        }

        /// <summary>Adds a model under a name.</summary>
        /// <param name="name">without '/'</param>
        /// <param name="module">the model</param>
        /// <returns>the checkpoint</returns>
        public Checkpoint Add(string name, Module module) =>
            Named(name, (ctx, self, text) => Raw.dlcore_checkpoint_add_module(ctx, self, text, Context.Use(module, nameof(module))));

        /// <summary>Adds an optimizer under a name.</summary>
        /// <param name="name">without '/'</param>
        /// <param name="optimizer">the optimizer</param>
        /// <returns>the checkpoint</returns>
        public Checkpoint Add(string name, Optimizer optimizer) =>
            Named(name, (ctx, self, text) =>
                Raw.dlcore_checkpoint_add_optimizer(ctx, self, text, Context.Use(optimizer, nameof(optimizer))));

        /// <summary>Adds a schedule under a name.</summary>
        /// <param name="name">without '/'</param>
        /// <param name="schedule">the schedule</param>
        /// <returns>the checkpoint</returns>
        public Checkpoint Add(string name, Schedule schedule) =>
            Named(name, (ctx, self, text) => Raw.dlcore_checkpoint_add_schedule(ctx, self, text, Context.Use(schedule, nameof(schedule))));

        /// <summary>Adds a loader under a name.</summary>
        /// <param name="name">without '/'</param>
        /// <param name="loader">the loader</param>
        /// <returns>the checkpoint</returns>
        public Checkpoint Add(string name, Loader loader) =>
            Named(name, (ctx, self, text) => Raw.dlcore_checkpoint_add_loader(ctx, self, text, Context.Use(loader, nameof(loader))));

        /// <summary>Adds a variable under a name.</summary>
        /// <param name="name">without '/'</param>
        /// <param name="variable">the variable</param>
        /// <returns>the checkpoint</returns>
        public Checkpoint Add(string name, Variable variable) =>
            Named(name, (ctx, self, text) => Raw.dlcore_checkpoint_add_variable(ctx, self, text, Context.Use(variable, nameof(variable))));

        /// <summary>Saves everything; the file is replaced as a whole or not at all.</summary>
        /// <param name="path">of the file</param>
        public void Save(string path) => Named(path, Raw.dlcore_checkpoint_save);

        /// <summary>Saves everything.</summary>
        /// <param name="stream">where to</param>
        public void Save(Stream stream) => Streams.Write(stream, (write, user) =>
            Call((ctx, self) => Raw.dlcore_checkpoint_write(ctx, self, write, (void*)user)));

        /// <summary>Loads everything; nothing changes on failure.</summary>
        /// <param name="path">of the file</param>
        public void Load(string path) => Named(path, Raw.dlcore_checkpoint_load);

        /// <summary>Loads everything; nothing changes on failure.</summary>
        /// <param name="stream">where from; it is read to its end</param>
        public void Load(Stream stream) => Streams.Read(stream, (read, user) =>
            Call((ctx, self) => Raw.dlcore_checkpoint_read(ctx, self, read, (void*)user)));

        /// <summary>Loads everything; nothing changes on failure.</summary>
        /// <param name="bytes">the whole file</param>
        public void Load(byte[] bytes) => Call(bytes, nameof(bytes), Raw.dlcore_checkpoint_load_buffer);

        private Checkpoint Named(string name, TextCall call)
        {
            Call(name, nameof(name), call);
            return this;
        }

        private static NativeHandle Create(Context context)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            return context.Use(ctx =>
            {
                IntPtr made = Raw.dlcore_checkpoint_create(ctx);
                if (made == IntPtr.Zero) throw context.TakeError(ctx);
                return new NativeHandle(made, GiveBack);
            });
        }
    }
}
