// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Dlcore.Nn;
using Dlcore.Optim;

namespace Dlcore.Tests
{
    internal static class LifetimeTests
    {
        public static void AScopeOwnsWhatIsMadeInIt(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Tensor outside = dl.Scalar(1f);
                Tensor inside;
                using (dl.Scope()) inside = outside + outside;
                Check.That(inside.IsClosed && !outside.IsClosed, "the inner tensor is closed, the outer one is not");
                Check.Equal(engine.Statistics.LiveTensors, 1L);
            }
        }

        public static void KeepMovesToTheEnclosingScope(Engine engine)
        {
            using (var dl = engine.Context())
            using (var outer = dl.Scope())
            {
                Tensor kept, twice;
                using (var inner = dl.Scope())
                {
                    kept = inner.Keep(dl.Scalar(2f));
                    using (dl.Scope()) twice = outer.Keep(dl.Scalar(3f));
                    using (dl.Scope()) dl.Scalar(4f).Keep();
                }
                Check.Equal(kept.ToSingle(), 2f);
                outer.Dispose();
                Check.That(kept.IsClosed, "the outer scope closes what was kept in it");
                Check.Equal(twice.ToSingle(), 3f, "kept out of two scopes");
            }
        }

        public static void AnotherThreadDisposesOfTensorsMeanwhile(Engine engine)
        {
            using (var dl = engine.Context())
            using (var made = new BlockingCollection<Tensor>(16))
            {
                var thread = new Thread(() =>
                {
                    foreach (Tensor tensor in made.GetConsumingEnumerable()) tensor.Dispose();
                });
                thread.Start();
                try
                {
                    for (int i = 0; i < 20000; ++i) made.Add(dl.Scalar((float)i));
                }
                finally
                {
                    made.CompleteAdding();
                    thread.Join();
                }
                Check.Equal(engine.Statistics.LiveTensors, 0L);
            }
        }

        public static void AnOuterScopeClosesInnerOnes(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Scope outer = dl.Scope(), inner = dl.Scope();
                Tensor tensor = dl.Scalar(1f);
                outer.Dispose();
                Check.That(tensor.IsClosed, "closed with the outer scope");
                inner.Dispose();
                outer.Dispose();
                outer.Reset();
                Tensor later = dl.Scalar(2f);
                Check.Equal(later.ToSingle(), 2f);
                Check.Throws<FailedPreconditionException>(() => inner.Keep(later), "scope");
            }
        }

        public static void ResetLeavesAScopeOpen(Engine engine)
        {
            using (var dl = engine.Context())
            using (var scope = dl.Scope())
            {
                for (int i = 0; i < 1000; ++i)
                {
                    dl.Scalar((float)i);
                    if (i % 10 == 9) scope.Reset();
                }
                Check.Equal(scope.Count, 0);
                Check.Equal(engine.Statistics.LiveTensors, 0L);
            }
        }

        public static void DisposingTwiceDoesNothing(Engine engine)
        {
            using (var dl = engine.Context())
            {
                foreach (IDisposable each in OneOfEach(dl))
                {
                    each.Dispose();
                    each.Dispose();
                }
            }
            var context = engine.Context();
            context.Dispose();
            context.Dispose();
            var other = Engine.Open(new EngineOptions { Threads = 1 });
            other.Dispose();
            other.Dispose();
        }

        public static void UseAfterCloseIsAnError(Engine engine)
        {
            var dl = engine.Context();
            Tensor x = dl.Tensor(new float[4], 1, 4), closed = dl.Scalar(1f);
            closed.Dispose();
            Check.Throws<ObjectDisposedException>(() => closed.Exp());
            Check.Throws<ObjectDisposedException>(() => dl.Add(x, closed));
            Check.Throws<ObjectDisposedException>(() => Console.Write(closed.Shape.Length));
            Check.Throws<ObjectDisposedException>(() => closed.ToSingle());
            Check.Throws<ObjectDisposedException>(() => closed.On(dl));
            Check.Equal(closed.ToString(), "a closed tensor");

            Resource[] resources = OneOfEach(dl).OfType<Resource>().ToArray();
            foreach (Resource each in resources) each.Dispose();
            var linear = resources.OfType<Linear>().Single();
            Check.Throws<ObjectDisposedException>(() => linear.Call(x), "Linear");
            Check.Throws<ObjectDisposedException>(() => linear.Save("never"));
            Check.Throws<ObjectDisposedException>(() => new Sequential(dl, linear));
            Check.Throws<ObjectDisposedException>(() => resources.OfType<Adam>().Single().Step());
            Check.Throws<ObjectDisposedException>(() => resources.OfType<StepLR>().Single().Step());
            Check.Throws<ObjectDisposedException>(() => resources.OfType<Variable>().Single().Value.ToString());
            Check.Throws<ObjectDisposedException>(() => resources.OfType<Loader>().Single().ToArray());
            Check.Throws<ObjectDisposedException>(() => resources.OfType<Checkpoint>().Single().Save("never"));
            Check.Throws<ObjectDisposedException>(() => resources.OfType<Graph>().Single().ToText());
            Check.Throws<ObjectDisposedException>(() => resources.OfType<Executable>().Single().Run());

            dl.Dispose();
            Check.That(x.IsClosed, "a context closes its tensors");
            Check.Throws<ObjectDisposedException>(() => dl.Scalar(1f), "closed");
            Check.Throws<ObjectDisposedException>(() => x.Exp());
            Check.Throws<ObjectDisposedException>(() => dl.Cancel());
            var other = Engine.Open(new EngineOptions { Threads = 1 });
            other.Dispose();
            Check.Throws<ObjectDisposedException>(() => other.Context());
            Check.Throws<ObjectDisposedException>(() => Console.Write(other.Statistics.Threads));
        }

        public static void AClosedEngineRefusesWork(Engine engine)
        {
            var other = Engine.Open(new EngineOptions { Threads = 1 });
            var dl = other.Context();
            Tensor x = dl.Scalar(1f);
            other.Dispose();
            Check.Throws<FailedPreconditionException>(() => x.Exp());
            x.Dispose();
            dl.Dispose();
        }

        public static void WhatIsForgottenGoesWithItsContext(Engine engine)
        {
            using (var dl = engine.Context()) OneOfEach(dl).ToArray();
            EngineStatistics now = engine.Statistics;
            Check.Equal(now.LiveModules + now.LiveOptimizers + now.LiveLoaders + now.LiveGraphs + now.LiveVariables + now.LiveTensors, 0L);
        }

        public static void AForgottenContextIsCollected(Engine engine)
        {
            Forget(engine);
            for (int i = 0; i < 20 && engine.Statistics.LiveContexts != 0; ++i)
            {
                new byte[100000].ToString(); // Mono's collector looks at the stack, and may take what lies there for a reference
                Runner.Collect();
            }
            Check.That(engine.Statistics.LiveContexts <= 1 && engine.Statistics.LiveTensors <= 100,
                "most forgotten contexts were collected");
        }

        public static void OpeningAContextAloneOpensAnEngine(Engine engine)
        {
            Engine own;
            using (var dl = Context.Open("cpu", seed: 3))
            {
                own = dl.Engine;
                Check.Equal(dl.Seed, 3ul);
                Check.Equal(dl.Device, "cpu");
                Check.Equal(dl.Scalar(2f).Square().ToSingle(), 4f);
            }
            Check.Throws<ObjectDisposedException>(() => own.Trim());
        }

        public static void ManyTensorsOutsideScopesAreToldOnce(Engine engine)
        {
            var messages = new List<string>();
            using (engine.LogTo((level, source, message) =>
            {
                lock (messages) messages.Add($"{level} {source} {message}");
            }))
            using (var dl = engine.Context())
            {
                for (int i = 0; i < 50000; ++i) dl.Scalar(1f);
                for (int wait = 0; wait < 100 && messages.Count == 0; ++wait) System.Threading.Thread.Sleep(10);
            }
            Check.Equal(messages.Count, 1, "warnings");
            Check.That(messages[0].StartsWith("Warning csharp") && messages[0].Contains("ManyTensorsOutsideScopes"), messages[0]);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Forget(Engine engine)
        {
            for (int i = 0; i < 10; ++i)
            {
                Context dl = engine.Context();
                for (int n = 0; n < 100; ++n) dl.Scalar(1f);
                new Linear(dl, 2, 2).Parameters();
            }
        }

        internal static IEnumerable<IDisposable> OneOfEach(Context dl)
        {
            var linear = new Linear(dl, 4, 2);
            var loader = dl.Data.FromTensors(dl.Tensor(new float[8], 2, 4), dl.Tensor(new long[2])).Batch(1);
            Graph graph = dl.Capture("g", capture => new[] { capture.Input("x", DType.F32, "[2]").Exp() });
            var adam = new Adam(dl, linear.Parameters());
            return new IDisposable[]
            {
                dl.Scalar(1f), dl.Scope(), linear, adam, new StepLR(dl, adam, stepSize: 2), loader, new Checkpoint(dl).Add("m", linear),
                new Variable(dl, "v", dl.Scalar(1f)), graph, graph.Compile(),
            };
        }
    }
}
