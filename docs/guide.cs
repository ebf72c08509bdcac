// SPDX-License-Identifier: Apache-2.0
// The code of guide-csharp.md: one program that checks itself.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;
using Dlcore;
using Dlcore.Nn;
using Dlcore.Optim;

internal static class Guide
{
    private static void Expect(bool holds, string what)
    {
        if (!holds) throw new Exception($"{what}: not as the guide says");
    }

    private static void Errors(Context dl)
    {
        Tensor a = dl.Full(new long[] { 2, 3 }, 1), b = dl.Full(new long[] { 2, 3 }, 1);
        try
        {
            a.Matmul(b);
        }
        catch (InvalidArgumentException error)
        {
            Console.WriteLine($"{error.Code} in op '{error.Op}': {error.Message}");
        }
        Expect((a + b).Sum().ToSingle() == 12, "errors");
    }

    private static void Scopes(Context dl)
    {
        Tensor total = dl.Scalar(0f);
        for (int i = 0; i < 1000; ++i)
        {
            using (var scope = dl.Scope())
            {
                Tensor next = scope.Keep(total + dl.RandomUniform(64).Mean()); // moves it to the enclosing scope
                total.Dispose(); // early, and allowed
                total = next;
            } // gives back what this turn made
        }
        Expect(total.ToSingle() > 480 && total.ToSingle() < 520, "scopes");
    }

    private static void Tensors(Context dl)
    {
        Tensor x = dl.Tensor(new float[] { 1, 2, 3, 4, 5, 6 }, 2, 3);
        Tensor t = x.PermuteDims(1, 0); // a view: no element is copied
        Expect(t.Shape[0] == 3 && t.Strides[0] == 1 && !t.IsContiguous, "a view");
        Expect(t.ToArray<float>()[1] == 4, "reading a view"); // in row-major order of the view: 1 4 2 5 3 6

        Tensor grid = dl.Tensor(new double[,] { { 1, 2 }, { 3, 4 } });
        Tensor part = dl.Tensor(new ReadOnlySpan<int>(new[] { 9, 8, 7, 6 }, 1, 2)); // 8 7
        Tensor halves = x.Astype(DType.F16);
        var buffer = new Float16[6];
        halves.CopyTo<Float16>(buffer);
        Console.WriteLine(grid);
        Expect(x[1, -1].ToSingle() == 6 && part.ToArray<int>()[0] == 8 && buffer[5] == 6, "elements");
    }

    private static void Ops(Context dl)
    {
        Tensor x = dl.Tensor(new float[] { 1, 2, 3, 4, 5, 6 }, 2, 3);
        Tensor y = 2 * x + 1;
        Tensor rows = y.Sum(new SumOptions { Axes = new long[] { -1 }, Keepdims = true }); // [2, 1]
        Tensor share = y / rows; // broadcasts to [2, 3]
        Expect(share[0, 0].ToSingle() == 3f / 15f, "ops");

        Tensor p = dl.Invoke(dl.FindOp("softmax"), new[] { x }, new long[] { -1 })[0]; // any op by its name
        Expect(p.Rank == 2, "an op by its name");
    }

    private static void Derivatives(Context dl)
    {
        Func<Tensor, Tensor> f = x => x.Sin() * x;
        Tensor at = dl.Scalar(0.5);
        Tensor first = dl.Grad(f, at); // sin x + x cos x = 0.918217...
        Tensor second = dl.Grad(x => dl.Grad(f, x), at); // 2 cos x - x sin x = 1.515452...
        var (value, tangent) = dl.Jvp(f, at, dl.Scalar(1.0));
        Tensor curvature = dl.Hessian(x => f(x).Sum(), dl.Tensor(new[] { 0.5, 1.5 })); // [2, 2]
        Expect(Math.Abs(first.ToDouble() - 0.918217) < 1e-5 && Math.Abs(second.ToDouble() - 1.515452) < 1e-5, "derivatives");
        Expect(tangent.ToDouble() == first.ToDouble() && value.Rank == 0 && curvature[0, 1].ToDouble() == 0, "more derivatives");
    }

    private static Sequential Classifier(Context dl) =>
        new Sequential(dl, new Linear(dl, 2, 32), new ReLU(dl), new Linear(dl, 32, 2));

    private static void Train(Context dl, string file)
    {
        Tensor points = dl.RandomUniform(new long[] { 2000, 2 }, new RandomUniformOptions { Low = -1 });
        Tensor inside = points.Square().Sum(new SumOptions { Axes = new long[] { 1 } }).Less(0.5).Astype(DType.I64);
        var train = dl.Data.FromTensors(points, inside).Batch(50, shuffle: true);

        var model = Classifier(dl);
        var adam = new Adam(dl, model.Parameters(), lr: 1e-2);
        for (int epoch = 0; epoch < 10; epoch++)
        {
            foreach (var batch in train) // each turn is a scope: what it made goes back at the next one
            {
                var (x, y) = batch;
                Tensor loss = dl.CrossEntropy(model.Call(x), y);
                loss.Backward();
                adam.Step(); // uses the gradients and clears them
            }
        }

        model.Save(file);
        var copy = Classifier(dl);
        copy.Load(file);
        using (dl.Inference())
        {
            double accuracy = copy.Call(points).Argmax(1).Equal(inside).Sum().ToDouble() / points.Dim(0);
            Console.WriteLine($"accuracy {accuracy:F3}");
            Expect(accuracy > 0.95, "training");
        }
    }

    private static void Schedules(Context dl)
    {
        var adam = new Adam(dl, Classifier(dl).Parameters(), lr: 1e-2);
        var cosine = new CosineAnnealingLR(dl, adam, tMax: 1000);
        for (int step = 0; step < 500; ++step)
        {
            cosine.Step(); // after the optimizer's
        }
        Expect(Math.Abs(adam.LearningRate().Value.ToDouble() - 5e-3) < 1e-9, "schedules");
    }

    private static void Compile(Context dl)
    {
        var model = Classifier(dl);
        var adam = new Adam(dl, model.Parameters());
        Compiled step = dl.Compile((x, y) =>
        {
            Tensor loss = dl.CrossEntropy(model.Call(x), y);
            loss.Backward();
            adam.Step();
            return loss;
        });
        float loss1 = step.Run(dl.RandomUniform(8, 2), dl.Tensor(new long[8])).ToSingle();
        Console.WriteLine(step.Explain()); // f32[8, 2], i64[8] training recording: compiled; 1 runs
        Expect(loss1 > 0 && step.Explain().Contains("compiled"), "compile");
    }

    private static void Checkpoints(Context dl)
    {
        var model = Classifier(dl);
        var adam = new Adam(dl, model.Parameters());
        var checkpoint = new Checkpoint(dl).Add("model", model).Add("adam", adam);
        var stream = new MemoryStream(); // a path will do as well
        checkpoint.Save(stream);
        stream.Position = 0;
        checkpoint.Load(stream);
        Expect(checkpoint.Warning == "", "checkpoints");
    }

    private static void Threads(Engine engine, Context setup)
    {
        Module frozen = Classifier(setup).Snapshot(); // training may go on beside it
        var workers = new Thread[8];
        for (int i = 0; i < workers.Length; ++i)
        {
            workers[i] = new Thread(() =>
            {
                using (var dl = engine.Context("cpu", inference: true)) // a context for each thread
                using (dl.Scope())
                {
                    frozen.Call(dl.Tensor(new float[] { 0, 0 }, 1, 2)).Argmax(1).ToInt64();
                }
            });
            workers[i].Start();
        }
        foreach (Thread worker in workers) worker.Join();
    }

    private static void Cancel(Context dl)
    {
        using (var source = new CancellationTokenSource())
        using (dl.CancelWith(source.Token))
        {
            source.CancelAfter(20);
            try
            {
                Tensor x = dl.Full(new long[] { 300, 300 }, 0.01);
                while (true) x = x.Matmul(x);
            }
            catch (OperationCanceledException)
            {
                Console.WriteLine("stopped");
            }
        }
    }

    private static void CustomOps(Context dl)
    {
        int cube = dl.RegisterOp("cube", new CustomOp
        {
            Infer = call => call.SetOutputLike(0, call.Input(0)),
            Forward = call => call.SetOutput(0, call.Input(0) * call.Input(0) * call.Input(0)),
            Backward = call => call.SetInputGradient(0, call.Gradient(0) * call.Input(0).Square() * 3),
        });
        Tensor gradient = dl.Grad(x => dl.Invoke(cube, new[] { x })[0], dl.Scalar(2.0));
        Expect(gradient.ToDouble() == 12, "a custom op");
    }

    private sealed class Residual : CustomModule
    {
        private readonly Module inner;

        internal Residual(Context dl, Module inner)
            : base(dl, new Dictionary<string, Module> { ["inner"] = inner })
        {
            this.inner = inner;
        }

        protected override Tensor Forward(Tensor x) => x + inner.Call(x);
    }

    private static void CustomModules(Context dl)
    {
        var model = new Sequential(dl, new Residual(dl, new Linear(dl, 3, 3)), new ReLU(dl));
        Expect(model.Find("0.inner.weight").Value.Count == 9, "paths of a custom module");
        Expect(model.Call(dl.RandomUniform(4, 3)).Shape[1] == 3, "a custom module");
    }

    private static int Main(string[] arguments)
    {
        using (var engine = Engine.Open(new EngineOptions { Threads = 2, MemoryLimit = 1UL << 30 }))
        using (engine.LogTo((level, source, message) => Console.Error.WriteLine($"{level} {source}: {message}")))
        using (var dl = engine.Context("cpu", seed: 42))
        {
            Errors(dl);
            Scopes(dl);
            Tensors(dl);
            Ops(dl);
            Derivatives(dl);
            Train(dl, arguments[0]);
            Schedules(dl);
            Compile(dl);
            Checkpoints(dl);
            Threads(engine, dl);
            Cancel(dl);
            CustomOps(dl);
            CustomModules(dl);
        }
        return 0;
    }
}
