// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Dlcore.Nn;
using Dlcore.Optim;

namespace Dlcore.Tests
{
    internal static class TrainingTests
    {
        private static Sequential Model(Context dl) => new Sequential(dl, new Linear(dl, 4, 8), new ReLU(dl), new Linear(dl, 8, 2));

        public static void EachTurnOfALoopIsAScope(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Loader loader = dl.Data.FromTensors(dl.Tensor(new float[40], 10, 4), dl.Tensor(new long[10])).Batch(4);
                Runner.Collect();
                long before = engine.Statistics.LiveTensors;
                Check.Equal(loader.Samples, 10L);
                Check.Equal(loader.Batches, 3L);
                Tensor last = null, kept = null;
                foreach (var batch in loader)
                {
                    var (x, y) = batch;
                    Check.That(last == null || last.IsClosed, "the turn before is over");
                    last = x + x;
                    if (kept == null) kept = (x * 3).Keep();
                    Check.Equal(x.Dim(0), y.Dim(0));
                }
                Check.That(last.IsClosed && !kept.IsClosed, "closed at the end, but for what was kept");
                kept.Dispose();
                Check.Equal(loader.Epoch, 0L, "epoch until the next one is begun");
                foreach (var batch in loader)
                {
                    last = batch.Item1;
                    break;
                }
                Check.That(last.IsClosed, "closed on break");
                Check.Equal(loader.Epoch, 1L);
                Check.Equal(loader.Count(), 2, "batches that are left after a break");
                Check.Throws<FormatException>(() =>
                {
                    foreach (var batch in loader)
                    {
                        last = batch.Item1;
                        dl.Scope(); // left open
                        throw new FormatException();
                    }
                });
                Check.That(last.IsClosed, "closed on an exception");
                loader.Seek(5, 2);
                Check.Equal(loader.Count(), 1);
                Check.Equal(engine.Statistics.LiveTensors, before, "live tensors");
                Check.Throws<InvalidArgumentException>(() => dl.Data.FromTensors(dl.Scalar(1f), dl.Scalar(1f)).Batch(0));
            }
        }

        public static void VariablesAreReadAssignedAndAdded(Engine engine)
        {
            using (var dl = engine.Context())
            {
                var v = new Variable(dl, "v", dl.Tensor(new float[] { 1, 2 }));
                Check.That(v.IsTrainable && v.Gradient == null, "trainable, without a gradient");
                v.Value.Square().Sum().Backward();
                Check.Same(v.Gradient.ToArray<float>(), new float[] { 2, 4 });
                v.Gradient = dl.Tensor(new float[] { 5, 5 });
                Check.Same(v.Gradient.ToArray<float>(), new float[] { 5, 5 });
                v.Gradient = null;
                Check.That(v.Gradient == null, "forgotten");
                v.Assign(dl.Tensor(new float[] { 3, 4 }));
                v.Accumulate(dl.Tensor(new float[] { 1, 1 }));
                Check.Same(v.Value.ToArray<float>(), new float[] { 4, 5 });
                v.IsTrainable = false;
                Check.That(!v.Value.RequiresGrad && !v.IsTrainable, "no leaf");
                Check.Throws<InvalidArgumentException>(() => v.Assign(dl.Scalar(1f)), "v");
                Check.Same(dl.Generator.Value.Shape, new long[] { 3 });
            }
        }

        public static void OptimizersHaveGroupsAndRates(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Variable a = new Variable(dl, "a", dl.Scalar(1f)), b = new Variable(dl, "b", dl.Scalar(1f));
                var sgd = new SGD(dl, new[] { a }, lr: 0.5);
                sgd.AddGroup(new[] { b }, 0.25, new SGD.Options { WeightDecay = 1 });
                Check.Equal(sgd.GroupCount, 2L);
                Check.Throws<InvalidArgumentException>(() => sgd.AddGroup(new[] { b }, 0.25, null), "b");
                Check.Throws<FailedPreconditionException>(() => sgd.Step());
                Tensor loss = a.Value * 2 + b.Value * 2;
                loss.Backward();
                sgd.StepKeep();
                Check.Equal(a.Value.ToSingle(), 0f);
                Check.Equal(b.Value.ToSingle(), 0.25f);
                sgd.LearningRate(0).Assign(dl.Scalar(1.0));
                sgd.Step();
                Check.Equal(a.Value.ToSingle(), -2f);
                loss = a.Value * 3 + b.Value * 4;
                loss.Backward();
                Check.Near(sgd.ClipGradients(1).ToSingle(), 5, 1e-6);
                Check.Near(a.Gradient.ToSingle(), 0.6, 1e-6);
                sgd.ZeroGradients();
                Check.That(a.Gradient == null, "forgotten");
                Check.That(sgd.Variables().Count >= 4, "rates and velocities");
            }
        }

        public static void SchedulesSetTheRates(Engine engine)
        {
            using (var dl = engine.Context())
            {
                var sgd = new SGD(dl, new[] { new Variable(dl, "a", dl.Scalar(1f)) }, lr: 0.5);
                var halves = new StepLR(dl, sgd, stepSize: 2, gamma: 0.5);
                Check.Equal(halves.Kind, "StepLR");
                var rates = new List<double>();
                for (int i = 0; i < 5; ++i)
                {
                    rates.Add(sgd.LearningRate().Value.ToDouble());
                    halves.Step();
                }
                Check.Same(rates.ToArray(), new[] { 0.5, 0.5, 0.25, 0.25, 0.125 });
                Check.Equal(halves.Count.Value.ToInt64(), 5L);
                halves.BaseRate().Assign(dl.Scalar(1.0));
                halves.Step();
                Check.Equal(sgd.LearningRate().Value.ToDouble(), 0.125);

                var saved = new MemoryStream();
                var checkpoint = new Checkpoint(dl).Add("sgd", sgd).Add("halves", halves);
                checkpoint.Save(saved);
                halves.Step();
                checkpoint.Load(saved.ToArray());
                Check.Equal(halves.Count.Value.ToInt64(), 6L);
                Check.Throws<OutOfRangeException>(() => halves.BaseRate(7), "7");
                Check.Throws<InvalidArgumentException>(() => new StepLR(dl, sgd, stepSize: 0), "0");
                Check.Throws<ArgumentNullException>(() => new StepLR(dl, null, stepSize: 1));
            }
        }

        public static void ATrainingGoesOnFromItsCheckpoint(Engine engine)
        {
            float[] whole, first, second;
            var saved = new MemoryStream();
            using (var dl = engine.Context(seed: 3)) whole = new Training(dl).Run(20);
            using (var dl = engine.Context(seed: 3))
            {
                var training = new Training(dl);
                first = training.Run(9);
                training.Checkpoint["note"] = "half \U0001F642";
                training.Checkpoint.Save(saved);
            }
            using (var dl = engine.Context(seed: 3))
            {
                var training = new Training(dl);
                saved.Position = 0;
                training.Checkpoint.Load(saved);
                Check.Equal(training.Checkpoint["note"], "half \U0001F642");
                Check.Equal(training.Checkpoint["other"], null);
                Check.Equal(training.Checkpoint.Warning, "");
                second = training.Run(11);
                training.Checkpoint.Load(saved.ToArray());
                Check.Throws<AlreadyExistsException>(() => training.Checkpoint.Add("model", training.Model));
            }
            Check.Same(first.Concat(second).ToArray(), whole, "losses");
        }

        private sealed class Training
        {
            internal readonly Sequential Model;
            internal readonly Checkpoint Checkpoint;
            private readonly Context dl;
            private readonly Loader loader;
            private readonly AdamW adam;

            internal Training(Context dl)
            {
                this.dl = dl;
                loader = dl.Data.FromTensors(dl.RandomUniform(30, 4), dl.RandomIntegers(new long[] { 30 }, 0, 2)).Batch(4, shuffle: true);
                Model = TrainingTests.Model(dl);
                adam = new AdamW(dl, Model.Parameters(), 1e-2, new AdamW.Options { WeightDecay = 0.1 });
                Checkpoint = new Checkpoint(dl).Add("model", Model).Add("adam", adam).Add("loader", loader);
            }

            internal float[] Run(int steps)
            {
                var losses = new List<float>();
                while (losses.Count < steps)
                {
                    foreach (var batch in loader)
                    {
                        var (x, y) = batch;
                        Tensor loss = dl.CrossEntropy(Model.Call(x), y, new CrossEntropyOptions { LabelSmoothing = 0.1 });
                        loss.Backward();
                        adam.Step();
                        losses.Add(loss.ToSingle());
                        if (losses.Count == steps) break;
                    }
                }
                return losses.ToArray();
            }
        }

        public static void ASnapshotStaysAsItIs(Engine engine)
        {
            using (var dl = engine.Context(seed: 3))
            {
                var training = new Training(dl);
                Tensor x = dl.RandomUniform(5, 4);
                float[] before;
                using (dl.Inference()) before = training.Model.Call(x).ToArray<float>();
                Module frozen = training.Model.Snapshot();
                training.Run(5);
                Check.Same(frozen.Call(x).ToArray<float>(), before);
                Check.That(!training.Model.Call(x).ToArray<float>().SequenceEqual(before), "the model went on");
                Check.Throws<FailedPreconditionException>(() => frozen.Find("0.weight").Assign(dl.RandomUniform(8, 4)));
                Check.That(!frozen.Call(x).RequiresGrad, "no history");
                GraphTests.Parallel(8, i =>
                {
                    using (var own = engine.Context())
                    using (own.Scope()) Check.Same(frozen.Call(own.Tensor(x.On(own).ToArray<float>(), 5, 4)).ToArray<float>(), before);
                });
            }
        }

        public static void ModulesAreListed(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Sequential model = Model(dl);
                Check.Equal(model.Kind, "Sequential");
                Check.Same(model.Children.Select(child => child.Kind).ToArray(), new[] { "Linear", "ReLU", "Linear" });
                Check.Same(model.Variables().Select(item => item.Key).ToArray(), new[] { "0.weight", "0.bias", "2.weight", "2.bias" });
                Check.Same(model.Find("2.bias").Value.Shape, new long[] { 2 });
                Check.Throws<NotFoundException>(() => model.Find("3.bias"), "2.bias");
                Check.Throws<InvalidArgumentException>(() => new Sequential(dl, model.Children[0]), "parent");
                var norm = new BatchNorm(dl, 4, new BatchNorm.Options { Momentum = 0.5 });
                Check.That(norm.Parameters().Count < norm.Variables().Count, "running statistics are no parameters");
                norm.Train(false);
                norm.Train();
                var conv = new Conv2d(dl, 1, 2, new long[] { 3 }, new Conv2d.Options { Bias = false, AutoPad = Conv2d.AutoPad.SameUpper });
                Check.Same(conv.Call(dl.Full(new long[] { 1, 1, 5, 5 }, 1)).Shape, new long[] { 1, 2, 5, 5 });
                Check.Equal(conv.Parameters().Count, 1);
            }
        }

        /// <summary>x W scale + inner(x), with a child and a variable of its own.</summary>
        private sealed class Gated : CustomModule
        {
            private readonly Module inner;
            private readonly Variable scale;

            internal Gated(Context dl, Module inner)
                : this(inner, new Variable(dl, "scale", dl.Scalar(2f)), dl)
            {
            }

            private Gated(Module inner, Variable scale, Context dl)
                : base(dl, new Dictionary<string, Module> { ["inner"] = inner }, scale)
            {
                this.inner = inner;
                this.scale = scale;
            }

            protected override Tensor Forward(Tensor x) => x * scale.On(x.Context) + inner.Call(x);
        }

        public static void AModuleOfTheProgramsOwn(Engine engine)
        {
            using (var dl = engine.Context(seed: 4))
            {
                var linear = new Linear(dl, 3, 3);
                var gated = new Gated(dl, linear);
                var model = new Sequential(dl, gated, new ReLU(dl));
                Check.Equal(gated.Kind, "Gated");
                Check.Same(model.Variables().Select(item => item.Key).OrderBy(key => key, StringComparer.Ordinal).ToArray(),
                           new[] { "0.inner.bias", "0.inner.weight", "0.scale" });
                Tensor x = dl.Tensor(new float[] { 1, -2, 3 }, 1, 3);
                float[] expected = (x * 2 + linear.Call(x)).Relu().ToArray<float>();
                Check.Same(model.Call(x).ToArray<float>(), expected);

                Module frozen = model.Snapshot();
                model.Call(x).Sum().Backward();
                Check.That(model.Find("0.scale").Gradient != null && linear.Find("weight").Gradient != null, "gradients of all");
                new SGD(dl, model.Parameters(), lr: 0.1).Step();
                Check.That(!model.Call(x).ToArray<float>().SequenceEqual(expected), "the model went on");
                Check.Same(frozen.Call(x).ToArray<float>(), expected, "the snapshot");

                var saved = new MemoryStream();
                model.Save(saved);
                var copy = new Sequential(dl, new Gated(dl, new Linear(dl, 3, 3)), new ReLU(dl));
                copy.Load(saved.ToArray());
                Check.Same(copy.Call(x).ToArray<float>(), model.Call(x).ToArray<float>());
                Check.Throws<InvalidArgumentException>(() => new Named(dl, "a.b"));
                gated.Dispose(); // its parent keeps what the library holds
                Check.Same(frozen.Call(x).ToArray<float>(), expected);
                Check.Equal(model.Call(x).Count, 3L);
                GraphTests.Parallel(4, i =>
                {
                    using (var own = engine.Context())
                    using (own.Scope()) Check.Same(frozen.Call(own.Tensor(new float[] { 1, -2, 3 }, 1, 3)).ToArray<float>(), expected);
                });
            }
        }

        private sealed class Named : CustomModule
        {
            internal Named(Context dl, string name)
                : base(dl, new Dictionary<string, Module> { [name] = new ReLU(dl) })
            {
            }

            protected override Tensor Forward(Tensor x) => x;
        }
    }
}
