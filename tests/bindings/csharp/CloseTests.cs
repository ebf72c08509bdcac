// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Threading;
using Dlcore.Nn;
using Dlcore.Optim;

namespace Dlcore.Tests
{
    /// <summary>Closing during a run from another thread: an exception or nothing, for each class of object.</summary>
    internal static class CloseTests
    {
        private const int Rounds = 30;

        public static void Tensors(Engine engine) => Race(engine, dl =>
        {
            Tensor x = dl.Tensor(new float[4096]);
            return (x, () => x.Exp());
        });

        public static void Scopes(Engine engine) => Race(engine, dl =>
        {
            Scope scope = dl.Scope();
            Tensor x = dl.Tensor(new float[4096]);
            return (scope, () => x.Exp());
        });

        public static void Contexts(Engine engine) => Race(engine, dl =>
        {
            Context own = engine.Context();
            Tensor x = own.Tensor(new float[4096]);
            return (own, () => x.Exp());
        });

        public static void Engines(Engine engine) => Race(engine, dl =>
        {
            Engine own = Engine.Open(new EngineOptions { Threads = 1 });
            Context context = own.Context();
            Tensor x = context.Tensor(new float[4096]);
            return (new Both(own, context), () => x.Exp());
        });

        public static void Modules(Engine engine) => Race(engine, dl =>
        {
            var linear = new Linear(dl, 64, 64);
            Tensor x = dl.Tensor(new float[64 * 64], 64, 64);
            return (linear, () => linear.Call(x));
        });

        public static void Variables(Engine engine) => Race(engine, dl =>
        {
            Tensor x = dl.Tensor(new float[4096]);
            var variable = new Variable(dl, "v", x);
            return (variable, () => variable.Accumulate(x));
        });

        public static void Optimizers(Engine engine) => Race(engine, dl =>
        {
            var linear = new Linear(dl, 64, 64);
            var adam = new Adam(dl, linear.Parameters());
            Tensor x = dl.Tensor(new float[64], 1, 64);
            return (adam, () =>
            {
                linear.Call(x).Sum().Backward();
                adam.Step();
            });
        });

        public static void Schedules(Engine engine) => Race(engine, dl =>
        {
            var schedule = new StepLR(dl, new Adam(dl, new Linear(dl, 4, 4).Parameters()), stepSize: 10);
            return (schedule, () => schedule.Step());
        });

        public static void Loaders(Engine engine) => Race(engine, dl =>
        {
            Loader loader = dl.Data.FromTensors(dl.Tensor(new float[1000], 100, 10), dl.Tensor(new long[100])).Batch(7,
                shuffle: true).Prefetch(3);
            return (loader, () => loader.Count());
        });

        public static void Executables(Engine engine) => Race(engine, dl =>
        {
            Executable executable = dl.Capture("g", capture => new[] { capture.Input("x", DType.F32, "[4096]").Exp().Sqrt() }).Compile();
            Tensor x = dl.Tensor(new float[4096]);
            return (executable, () => executable.Run(x));
        });

        public static void Graphs(Engine engine) => Race(engine, dl =>
        {
            Graph graph = dl.Capture("g", capture => new[] { capture.Input("x", DType.F32, "[4096]").Exp().Sqrt() });
            return (graph, () => graph.ToText());
        });

        public static void Archives(Engine engine) => Race(engine, dl =>
        {
            var saved = new System.IO.MemoryStream();
            new Linear(dl, 64, 64).Save(saved);
            Archive archive = Archive.Open(dl, saved.ToArray());
            return (archive, () => Console.Write(archive["weight"].IsClosed ? "" : ""));
        });

        public static void Snapshots(Engine engine) => Race(engine, dl =>
        {
            Module frozen = new Linear(dl, 64, 64).Snapshot();
            Tensor x = dl.Tensor(new float[64], 1, 64);
            return (frozen, () => frozen.Call(x));
        });

        public static void CustomModules(Engine engine) => Race(engine, dl =>
        {
            var own = new Own(dl, new Linear(dl, 64, 64));
            Tensor x = dl.Tensor(new float[64], 1, 64);
            return (own, () => own.Call(x));
        });

        private sealed class Own : CustomModule
        {
            private readonly Module inner;

            internal Own(Context dl, Module inner)
                : base(dl, inner)
            {
                this.inner = inner;
            }

            protected override Tensor Forward(Tensor x) => inner.Call(x);
        }

        public static void Checkpoints(Engine engine) => Race(engine, dl =>
        {
            Checkpoint checkpoint = new Checkpoint(dl).Add("m", new Linear(dl, 64, 64));
            return (checkpoint, () => checkpoint.Save(System.IO.Stream.Null));
        });

        /// <summary>Repeats a run on one thread while another closes what it uses, at a moment that moves.</summary>
        private static void Race(Engine engine, Func<Context, (IDisposable, Action)> make)
        {
            Exception wrong = null;
            for (int round = 0; round < Rounds && wrong == null; ++round)
            {
                using (var dl = engine.Context())
                {
                    var (closed, run) = make(dl);
                    using (var started = new ManualResetEventSlim())
                    {
                        var thread = new Thread(() =>
                        {
                            try
                            {
                                for (int i = 0; i < 100000; ++i)
                                {
                                    run();
                                    started.Set();
                                }
                            }
                            catch (Exception exception)
                            {
                                if (!(exception is ObjectDisposedException || exception is FailedPreconditionException)) wrong = exception;
                            }
                            started.Set();
                        });
                        thread.Start();
                        started.Wait();
                        Thread.SpinWait(round * 97 % 4000);
                        closed.Dispose();
                        closed.Dispose();
                        if (!thread.Join(TimeSpan.FromSeconds(60))) throw new Failure("the run goes on with a closed object");
                    }
                }
            }
            if (wrong != null) throw new Failure($"threw {wrong}");
        }

        private sealed class Both : IDisposable
        {
            private readonly IDisposable first, second;

            internal Both(IDisposable first, IDisposable second)
            {
                this.first = first;
                this.second = second;
            }

            public void Dispose()
            {
                first.Dispose();
                second.Dispose();
            }
        }
    }
}
