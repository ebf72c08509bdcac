// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Dlcore.Nn;
using Dlcore.Optim;

namespace Dlcore.Tests
{
    internal static class GraphTests
    {
        public static void GraphsArePrintedReadAndRun(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Graph graph = dl.Capture("twice", capture =>
                {
                    Tensor x = capture.Input("x", DType.F32, "[B, 2]");
                    x.Exp(); // for nobody
                    Check.That(x.IsSymbolic && x.Shape[0] == -1, "a symbolic input");
                    return new[] { x * 2 + capture.Constant(dl.Scalar(1f)), x.Sum() };
                });
                graph.Verify();
                Graph less = graph.Apply("dce");
                Check.That(less.NodeCount < graph.NodeCount, "dce drops nodes");
                Check.Throws<NotFoundException>(() => graph.Apply("nonsense"), "dce");
                Graph again = Graph.Parse(dl, graph.ToText(), outputs: 2);
                Check.Equal(again.ToText(), graph.ToText(), "text");
                foreach (Graph each in new[] { graph, less, again })
                {
                    Tensor[] results = each.Compile().Run(dl.Tensor(new float[] { 1, 2, 3, 4, 5, 6 }, 3, 2));
                    Check.Same(results[0].ToArray<float>(), new float[] { 3, 5, 7, 9, 11, 13 });
                    Check.Equal(results[1].ToSingle(), 21f);
                }
            }
        }

        public static void AFailedCaptureIsForgotten(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Tensor concrete = dl.Scalar(1f);
                Check.Throws<FormatException>(() => dl.Capture("g", capture => { throw new FormatException(); }));
                Func<Capture, Tensor> input = capture => capture.Input("x", DType.F32, "[]");
                Check.Throws<InvalidArgumentException>(() => dl.Capture("g", capture => new[] { input(capture) + concrete }), "concrete");
                Check.Throws<FailedPreconditionException>(
                    () => dl.Capture("g", capture => new[] { dl.Scalar(input(capture).ToSingle()) }), "input 'x'");
                Check.Throws<FailedPreconditionException>(() => dl.Capture("g", capture => dl.Capture("h", inner => null).Compile().Run()));
                Check.Throws<InvalidArgumentException>(() => dl.Capture("g", capture => null));
                Check.Equal((concrete + 1).ToSingle(), 2f);
            }
        }

        public static void CompiledTrainingHasTheBitsOfEagerTraining(Engine engine) =>
            Check.Same(Train(engine, compiled: true), Train(engine, compiled: false));

        private static float[] Train(Engine engine, bool compiled)
        {
            var losses = new List<float>();
            using (var dl = engine.Context(seed: 5))
            {
                var model = new Sequential(dl, new Linear(dl, 6, 8), new ReLU(dl), new Dropout(dl, 0.2), new Linear(dl, 8, 3));
                var adam = new Adam(dl, model.Parameters(), lr: 1e-2);
                Tensor samples = dl.RandomUniform(50, 6), labels = dl.RandomIntegers(new long[] { 50 }, 0, 3);
                var loader = dl.Data.FromTensors(samples, labels).Batch(8, shuffle: true);
                Func<Tensor, Tensor, Tensor> step = (x, y) =>
                {
                    Tensor loss = dl.CrossEntropy(model.Call(x), y);
                    loss.Backward();
                    adam.Step();
                    return loss;
                };
                Compiled run = dl.Compile(step);
                for (int epoch = 0; epoch < 3; ++epoch)
                {
                    foreach (var batch in loader)
                    {
                        var (x, y) = batch;
                        losses.Add((compiled ? run.Run(x, y) : step(x, y)).ToSingle());
                    }
                }
                losses.AddRange(model.Find("0.weight").Value.ToArray<float>());
                if (!compiled) return losses.ToArray();
                // A last batch of two is the second signature.
                string[] lines = run.Explain().Split('\n');
                Check.Equal(lines.Length, 2, "signatures");
                Check.That(lines.All(line => line.Contains("compiled")) && lines[0].Contains("f32[8, 6], i64[8]")
                    && lines[0].Contains("18 runs"), run.Explain());
            }
            return losses.ToArray();
        }

        public static void WhatCannotBeCapturedRunsEagerly(Engine engine)
        {
            var messages = new List<string>();
            using (engine.LogTo((level, source, message) =>
            {
                lock (messages) messages.Add($"{level} {source} {message}");
            }))
            using (var dl = engine.Context())
            {
                Compiled run = dl.Compile(x => x.Sum().ToSingle() > 0 ? x * 2 : x); // looks at an element
                Check.Equal(run.Explain(), "not run yet");
                Check.Equal(run.Run(dl.Scalar(3f)).ToSingle(), 6f);
                Check.Equal(run.Run(dl.Scalar(-3f)).ToSingle(), -3f);
                Check.That(run.Explain().Contains("eager, because") && run.Explain().Contains("2 runs"), run.Explain());
                Compiled throws = dl.Compile(new Func<Tensor, Tensor>(x => { throw new FormatException("mine"); }));
                Check.Throws<FormatException>(() => throws.Run(dl.Scalar(3f)), "mine");
                for (int wait = 0; wait < 200 && messages.Count < 2; ++wait) Thread.Sleep(10);
            }
            Check.Equal(messages.Count, 2, "log records");
            Check.That(messages[0].StartsWith("Warning compile runs eagerly for f32[]"), messages[0]);
        }

        public static void HistoryAndWeaknessAreKeptByRunningEagerly(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Compiled twice = dl.Compile(x => x * 2);
                Tensor leaf = dl.Scalar(3f).Watch();
                Check.Equal(dl.Grad(new[] { twice.Run(leaf) }, new[] { leaf })[0].ToSingle(), 2f);
                Check.Equal(twice.Run(dl.Scalar(3f)).ToSingle(), 6f);
                Compiled add = dl.Compile((x, y) => x + y);
                Check.Equal(add.Run(dl.Scalar((Float16)1), dl.Weak(2)).DType, DType.F16);
                Check.Equal(add.Run(dl.Scalar((Float16)1), dl.Scalar(2L)).DType, DType.F16);
                Check.Equal(twice.Explain().Split('\n').Length, 2, "signatures");
                Check.That(twice.Explain().Contains("with history") && add.Explain().Contains("weak"), twice.Explain() + add.Explain());
                Graph graph = dl.Capture("outer", capture => new[] { twice.Run(capture.Input("x", DType.F32, "[]")) });
                Check.Equal(graph.Compile().Run(dl.Scalar(4f))[0].ToSingle(), 8f);
                Check.Throws<ArgumentNullException>(() => twice.Run(null));
                Check.Throws<ArgumentNullException>(() => twice.Run(new Tensor[] { null }));
            }
        }

        public static void ExecutablesRunOnManyContexts(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Executable executable = dl.Capture("square", capture => new[] { capture.Input("x", DType.F32, "[]").Square() }).Compile();
                Parallel(8, i =>
                {
                    using (var own = engine.Context())
                    {
                        for (int n = 0; n < 100; ++n) Check.Equal(executable.Run(own.Scalar((float)i))[0].ToSingle(), (float)(i * i));
                    }
                });
            }
        }

        internal static void Parallel(int count, Action<int> body)
        {
            Exception failure = null;
            Thread[] threads = Enumerable.Range(0, count).Select(i => new Thread(() =>
            {
                try
                {
                    body(i);
                }
                catch (Exception exception)
                {
                    failure = exception;
                }
            })).ToArray();
            foreach (Thread thread in threads) thread.Start();
            foreach (Thread thread in threads) thread.Join();
            if (failure != null) throw new Failure(failure.ToString());
        }
    }
}
