// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;

namespace Dlcore.Nn
{
    /// <summary>A layer or a model: variables, and how they answer an input.</summary>
    public unsafe class Module : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_module_release;

        internal Module(Context context, int layer, Module[] children, long[] words)
            : base(context, Create(context, layer, children, words))
        {
        }

        internal Module(Context context, NativeHandle owned)
            : base(context, owned)
        {
        }

        internal Module(Context context, Func<Resource, NativeHandle> make)
            : base(context, make)
        {
        }

        /// <summary>Name of the layer in the catalogue, as "Linear".</summary>
        public string Kind => Read(module => Text.From(Raw.dlcore_module_kind(module)));

        /// <summary>The modules directly inside it.</summary>
        public IReadOnlyList<Module> Children => Read(module =>
        {
            var children = new Module[Raw.dlcore_module_child_count(module)];
            for (int i = 0; i < children.Length; ++i)
            {
                children[i] = Borrowed(Context, Raw.dlcore_module_child(module, i));
            }
            return children;
        });

        /// <summary>Runs it, on the context of the input.</summary>
        /// <param name="x">the input</param>
        /// <returns>the answer, of the scope of that context</returns>
        public Tensor Call(Tensor x)
        {
            if (x == null) throw new ArgumentNullException(nameof(x));
            Context context = x.Context;
            IntPtr ctx = context.Enter();
            try
            {
                IntPtr module = context.Use(CustomModule.Substitute(this), "module");
                return context.Made(ctx, Raw.dlcore_module_call(ctx, module, context.Use(x, nameof(x))));
            }
            finally
            {
                context.Leave();
            }
        }

        /// <summary>Switches it and everything inside it to training mode, or to inference.</summary>
        /// <param name="on">whether layers behave as in training</param>
        public void Train(bool on = true) => Call((ctx, module) =>
            Raw.dlcore_module_set_training(ctx, module, on ? 1 : 0) < 0 ? Raw.dlcore_context_status(ctx) : 0);

        /// <summary>A module that answers for ever as this one would now in inference mode, while training goes on. It may
        /// be used from any number of threads, each with inputs of a context of its own.</summary>
        /// <returns>the immutable module</returns>
        public Module Snapshot() => Context.Use(ctx =>
        {
            IntPtr made = Raw.dlcore_module_snapshot(ctx, Context.Use(this, "module"));
            if (made == IntPtr.Zero) throw Context.TakeError(ctx);
            return new Module(Context, Owned(made));
        });

        /// <summary>The trainable variables of it and everything inside it, in the order of their definition.</summary>
        /// <returns>the variables</returns>
        public IReadOnlyList<Variable> Parameters()
        {
            var trainable = new List<Variable>();
            foreach (KeyValuePair<string, Variable> item in Variables())
            {
                if (item.Value.IsTrainable) trainable.Add(item.Value);
                else item.Value.Dispose();
            }
            return trainable;
        }

        /// <summary>All variables of it and everything inside it, with their paths ("0.weight").</summary>
        /// <returns>path and variable</returns>
        public IReadOnlyList<KeyValuePair<string, Variable>> Variables() => Context.Use(ctx =>
        {
            IntPtr module = Context.Use(this, "module");
            var items = new KeyValuePair<string, Variable>[Raw.dlcore_module_variable_count(module)];
            for (int i = 0; i < items.Length; ++i)
            {
                int index = i;
                string path = Text.Written((buffer, size) => Raw.dlcore_module_variable_path(ctx, module, index, buffer, size));
                IntPtr variable = Raw.dlcore_module_variable(ctx, module, i);
                if (path == null || variable == IntPtr.Zero) throw Context.TakeError(ctx);
                items[i] = new KeyValuePair<string, Variable>(path, Variable.Borrowed(Context, variable));
            }
            return items;
        });

        /// <summary>The variable at a path.</summary>
        /// <param name="path">as "0.weight"</param>
        /// <returns>the variable</returns>
        public Variable Find(string path)
        {
            byte[] bytes = Text.Needed(path, nameof(path));
            return Context.Use(ctx =>
            {
                fixed (byte* text = bytes)
                {
                    IntPtr variable = Raw.dlcore_module_find(ctx, Context.Use(this, "module"), text);
                    if (variable == IntPtr.Zero) throw Context.TakeError(ctx);
                    return Variable.Borrowed(Context, variable);
                }
            });
        }

        /// <summary>Saves all variables as safetensors; the file is replaced as a whole or not at all.</summary>
        /// <param name="path">of the file</param>
        public void Save(string path) => Call(path, nameof(path), Raw.dlcore_module_save);

        /// <summary>Saves all variables as safetensors.</summary>
        /// <param name="stream">where to</param>
        public void Save(Stream stream) => Streams.Write(stream, (write, user) =>
            Call((ctx, module) => Raw.dlcore_module_write(ctx, module, write, (void*)user)));

        /// <summary>Loads what Save wrote; nothing changes on failure.</summary>
        /// <param name="path">of the file</param>
        public void Load(string path) => Call(path, nameof(path), Raw.dlcore_module_load);

        /// <summary>Loads what Save wrote; nothing changes on failure.</summary>
        /// <param name="stream">where from; it is read to its end</param>
        public void Load(Stream stream) => Streams.Read(stream, (read, user) =>
            Call((ctx, module) => Raw.dlcore_module_read(ctx, module, read, (void*)user)));

        /// <summary>Loads what Save wrote; nothing changes on failure.</summary>
        /// <param name="bytes">the whole file</param>
        public void Load(byte[] bytes) => Call(bytes, nameof(bytes), Raw.dlcore_module_load_buffer);

        internal static NativeHandle Owned(IntPtr module) => new NativeHandle(module, GiveBack);

        /// <summary>A new reference to a module that the library lent.</summary>
        internal static Module Borrowed(Context context, IntPtr borrowed)
        {
            Raw.dlcore_module_retain(borrowed);
            return new Module(context, Owned(borrowed));
        }

        private static NativeHandle Create(Context context, int layer, Module[] children, long[] words)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            children = children ?? new Module[0];
            return context.Use(ctx =>
            {
                var handles = new IntPtr[children.Length];
                for (int i = 0; i < handles.Length; ++i) handles[i] = context.Use(children[i], nameof(children));
                fixed (IntPtr* given = handles)
                fixed (long* packed = words)
                {
                    IntPtr made = Raw.dlcore_module_create(ctx, layer, given, handles.Length, packed, words == null ? 0 : words.Length);
                    if (made == IntPtr.Zero) throw context.TakeError(ctx);
                    return new NativeHandle(made, GiveBack);
                }
            });
        }
    }
}
