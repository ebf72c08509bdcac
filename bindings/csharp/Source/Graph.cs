// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>A program as data: what calls on a context would do, to be printed, changed by passes, compiled.</summary>
    public sealed unsafe class Graph : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_graph_release;

        internal Graph(Context context, IntPtr owned, int outputs)
            : base(context, new NativeHandle(owned, GiveBack))
        {
            Outputs = outputs;
        }

        /// <summary>How many results a run gives.</summary>
        public int Outputs { get; }

        /// <summary>Number of nodes.</summary>
        public long NodeCount => Read(Raw.dlcore_graph_node_count);

        /// <summary>Reads the text of a graph.</summary>
        /// <param name="context">where it is made</param>
        /// <param name="text">what ToText gave</param>
        /// <param name="outputs">how many results a run gives</param>
        /// <returns>the graph</returns>
        public static Graph Parse(Context context, string text, int outputs = 1)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            if (text == null) throw new ArgumentNullException(nameof(text));
            byte[] bytes = Text.Encode(text, "graph_parse");
            return context.Use(ctx =>
            {
                byte empty = 0;
                fixed (byte* data = bytes)
                {
                    return Made(context, ctx, Raw.dlcore_graph_parse(ctx, data == null ? &empty : data, bytes.Length), outputs);
                }
            });
        }

        /// <summary>The graph as text, which Parse reads.</summary>
        /// <returns>the text</returns>
        public string ToText() => Context.Use(ctx =>
        {
            IntPtr graph = Context.Use(this, "graph");
            string text = Text.Written((buffer, size) => Raw.dlcore_graph_to_text(ctx, graph, buffer, size));
            if (text == null) throw Context.TakeError(ctx);
            return text;
        });

        /// <summary>Checks every rule of the form.</summary>
        public void Verify() => Call(Raw.dlcore_graph_verify);

        /// <summary>A new graph, after a pass.</summary>
        /// <param name="pass">"dce" drops what nothing needs, "cse" computes equal things once</param>
        /// <returns>the new graph</returns>
        public Graph Apply(string pass)
        {
            byte[] name = Text.Needed(pass, nameof(pass));
            return Context.Use(ctx =>
            {
                fixed (byte* text = name) return Made(Context, ctx, Raw.dlcore_graph_apply(ctx, Context.Use(this, "graph"), text), Outputs);
            });
        }

        /// <summary>Makes it executable on the device of the context.</summary>
        /// <param name="variables">its state is bound to those of the same names; none: to those it was captured with</param>
        /// <returns>the executable</returns>
        public Executable Compile(params Variable[] variables) => Context.Use(ctx =>
        {
            var handles = new IntPtr[variables == null ? 0 : variables.Length];
            for (int i = 0; i < handles.Length; ++i) handles[i] = Context.Use(variables[i], nameof(variables));
            fixed (IntPtr* given = handles)
            {
                IntPtr made = Raw.dlcore_graph_compile(ctx, Context.Use(this, "graph"), given, handles.Length);
                if (made == IntPtr.Zero) throw Context.TakeError(ctx);
                return new Executable(Context, made, Outputs);
            }
        });

        private static Graph Made(Context context, IntPtr ctx, IntPtr made, int outputs)
        {
            if (made == IntPtr.Zero) throw context.TakeError(ctx);
            return new Graph(context, made, outputs);
        }
    }

    /// <summary>A compiled graph. It may run on several threads at once, each with inputs of a context of its own.</summary>
    public sealed unsafe class Executable : Resource
    {
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_executable_release;
        private readonly int outputs;

        internal Executable(Context context, IntPtr owned, int outputs)
            : base(context, new NativeHandle(owned, GiveBack))
        {
            this.outputs = outputs;
        }

        /// <summary>Runs it on the context of its inputs: reads its variables, computes, and updates them together.</summary>
        /// <param name="inputs">in the order of the capture</param>
        /// <returns>the results, with the bits of the eager calls</returns>
        public Tensor[] Run(params Tensor[] inputs)
        {
            if (inputs == null) throw new ArgumentNullException(nameof(inputs));
            Context context = inputs.Length > 0 && inputs[0] != null ? inputs[0].Context : Context;
            return context.Use(ctx =>
            {
                var made = new IntPtr[outputs];
                fixed (IntPtr* results = made, given = context.Addresses(inputs))
                {
                    context.Check(ctx, Raw.dlcore_executable_run(
                        ctx, context.Use(this, "executable"), given, inputs.Length, results, outputs));
                }
                return Array.ConvertAll(made, context.Track);
            });
        }
    }

    /// <summary>A capture that is going on: calls on the context append to a graph instead of computing.</summary>
    public sealed unsafe class Capture
    {
        private readonly Context context;

        internal Capture(Context context)
        {
            this.context = context;
        }

        /// <summary>An input of the graph.</summary>
        /// <param name="name">its name</param>
        /// <param name="dtype">type of its elements</param>
        /// <param name="shape">as "[64, 784]", or with symbols that stand for one size everywhere, "[B, 784]"</param>
        /// <returns>a tensor without elements</returns>
        public Tensor Input(string name, DType dtype, string shape)
        {
            byte[] names = Text.Needed(name, nameof(name)), shapes = Text.Needed(shape, nameof(shape));
            return context.Use(ctx =>
            {
                fixed (byte* called = names, shaped = shapes)
                {
                    return context.Made(ctx, Raw.dlcore_capture_input(ctx, called, (int)dtype, shaped));
                }
            });
        }

        /// <summary>Makes a tensor of the program usable in the capture.</summary>
        /// <param name="tensor">whose values the graph keeps</param>
        /// <returns>a tensor of the capture</returns>
        public Tensor Constant(Tensor tensor) =>
            context.Use(ctx => context.Made(ctx, Raw.dlcore_capture_constant(ctx, context.Use(tensor, nameof(tensor)))));
    }

    public sealed unsafe partial class Context
    {
        /// <summary>Captures calls as a graph. The variables that they would change do not change.</summary>
        /// <param name="name">of the graph</param>
        /// <param name="build">makes the outputs from inputs of the capture</param>
        /// <returns>the graph</returns>
        public Graph Capture(string name, Func<Capture, Tensor[]> build)
        {
            if (build == null) throw new ArgumentNullException(nameof(build));
            byte[] bytes = Text.Needed(name, nameof(name));
            using (Scope())
            {
                Use(ctx =>
                {
                    fixed (byte* text = bytes) Check(ctx, Raw.dlcore_capture_begin(ctx, text));
                    return 0;
                });
                bool ended = false;
                try
                {
                    Tensor[] outputs = build(new Capture(this));
                    if (outputs == null) throw new InvalidArgumentException("capture: no outputs: they are null, expected tensors");
                    return Use(ctx =>
                    {
                        fixed (IntPtr* results = Addresses(outputs))
                        {
                            IntPtr graph = Raw.dlcore_capture_end(ctx, results, outputs.Length);
                            if (graph == IntPtr.Zero) throw TakeError(ctx);
                            ended = true;
                            return new Graph(this, graph, outputs.Length);
                        }
                    });
                }
                finally
                {
                    if (!ended && !IsClosed) Use(ctx => Raw.dlcore_capture_abort(ctx));
                }
            }
        }
    }
}
