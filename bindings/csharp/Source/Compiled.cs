// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dlcore
{
    public sealed unsafe partial class Context
    {
        /// <summary>Compiles a function when it is first run with inputs of new dtypes and shapes. Where it cannot be, it
        /// runs eagerly, and the reason is logged. The bits are the same.</summary>
        /// <param name="function">made of calls on this context; it may train</param>
        /// <returns>what to run instead of it</returns>
        public Compiled Compile(Func<Tensor[], Tensor[]> function) => new Compiled(this, function);

        /// <summary>Compiles a function when it is first run with inputs of new dtypes and shapes.</summary>
        /// <param name="function">made of calls on this context; it may train</param>
        /// <returns>what to run instead of it</returns>
        public Compiled Compile(Func<Tensor, Tensor> function) => new Compiled(this, inputs => new[] { function(inputs[0]) });

        /// <summary>Compiles a function when it is first run with inputs of new dtypes and shapes.</summary>
        /// <param name="function">made of calls on this context; it may train</param>
        /// <returns>what to run instead of it</returns>
        public Compiled Compile(Func<Tensor, Tensor, Tensor> function) =>
            new Compiled(this, inputs => new[] { function(inputs[0], inputs[1]) });
    }

    /// <summary>A function and its executables, one for each signature: dtypes and shapes of the inputs, and the modes of
    /// the context.</summary>
    public sealed class Compiled
    {
        private readonly Context context;
        private readonly Func<Tensor[], Tensor[]> function;
        private readonly Dictionary<string, Version> versions = new Dictionary<string, Version>();

        internal Compiled(Context context, Func<Tensor[], Tensor[]> function)
        {
            if (function == null) throw new ArgumentNullException(nameof(function));
            this.context = context;
            this.function = function;
        }

        /// <summary>Runs it.</summary>
        /// <param name="inputs">of the context that it was compiled on</param>
        /// <returns>its first result</returns>
        public Tensor Run(params Tensor[] inputs) => RunAll(inputs)[0];

        /// <summary>Runs it.</summary>
        /// <param name="inputs">of the context that it was compiled on</param>
        /// <returns>its results</returns>
        public Tensor[] RunAll(params Tensor[] inputs)
        {
            if (inputs == null) throw new ArgumentNullException(nameof(inputs));
            if (Array.Exists(inputs, input => input != null && input.IsSymbolic)) return function(inputs); // inside a capture
            string signature = SignatureOf(inputs);
            if (!versions.TryGetValue(signature, out Version version))
            {
                version = Build(signature, inputs);
                versions.Add(signature, version);
            }
            ++version.Runs;
            return version.Executable != null ? version.Executable.Run(inputs) : function(inputs);
        }

        /// <summary>What was compiled for which inputs, what runs eagerly and why.</summary>
        /// <returns>a line for each signature</returns>
        public string Explain()
        {
            if (versions.Count == 0) return "not run yet";
            return string.Join("\n", versions.Select(item => $"{item.Key}: {item.Value.How}; {item.Value.Runs} runs"));
        }

        private Version Build(string signature, Tensor[] inputs)
        {
            var descriptions = Array.ConvertAll(inputs, input => (input.DType, $"[{string.Join(", ", input.Shape)}]"));
            try
            {
                for (int i = 0; i < inputs.Length; ++i) NeedPlain(inputs[i], i);
                using (Graph graph = context.Capture("compiled", capture => function(descriptions.Select((about, i) =>
                    capture.Input($"input{i}", about.Item1, about.Item2)).ToArray())))
                {
                    return new Version { Executable = graph.Compile() };
                }
            }
            catch (Exception reason) when (!(reason is OutOfMemoryException || reason is OperationCanceledException))
            {
                // Whatever it is, the eager run either does not meet it or throws it to the caller.
                context.Engine.Log(LogLevel.Warning, "compile", $"runs eagerly for {signature}: {reason.Message}");
                return new Version { Reason = reason.Message };
            }
        }

        /// <summary>What an executable would drop: history to be gone back along, and that a number is weak.</summary>
        private static void NeedPlain(Tensor input, int index)
        {
            if (input.IsWeak) throw new UnimplementedException($"compile: input {index} is a weak number, expected a tensor");
            if (input.RequiresGrad) throw new UnimplementedException($"compile: input {index} has history, expected none");
        }

        private string SignatureOf(Tensor[] inputs)
        {
            var parts = inputs.Select(input =>
            {
                if (input == null) throw new ArgumentNullException(nameof(inputs));
                string about = $"{input.DType.ToString().ToLowerInvariant()}[{string.Join(", ", input.Shape)}]";
                return about + (input.IsWeak ? " weak" : "") + (input.RequiresGrad ? " with history" : "");
            });
            return string.Join(", ", parts) + (context.IsTraining ? " training" : "") + (context.IsRecording ? " recording" : "");
        }

        private sealed class Version
        {
            internal Executable Executable;
            internal string Reason;
            internal long Runs;

            internal string How => Executable != null ? "compiled" : "eager, because " + Reason;
        }
    }
}
