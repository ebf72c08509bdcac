// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Threading;
using Dlcore.Nn;

namespace Dlcore.Tests
{
    internal static class ErrorTests
    {
        public static void EachCodeHasAClass(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Scalar(1f);
                foreach (StatusCode code in Enum.GetValues(typeof(StatusCode)).Cast<StatusCode>().Where(code => code != StatusCode.OK))
                {
                    Type type = typeof(Engine).Assembly.GetType($"Dlcore.{code}Exception");
                    Check.That(type != null && type.BaseType == typeof(DlcoreException), $"a class for {code}");
                    var thrown = (DlcoreException)Activator.CreateInstance(type, $"it is {code}", "", null);
                    Check.Equal(thrown.Code, code);
                    int op = dl.RegisterOp($"fails_{code}", new CustomOp
                    {
                        Infer = call => call.SetOutputLike(0, call.Input(0)), Forward = call => { throw thrown; },
                    });
                    try
                    {
                        dl.Invoke(op, new[] { x });
                        throw new Failure($"{code} was not thrown");
                    }
                    catch (DlcoreException caught)
                    {
                        Check.Equal(caught.GetType(), type, "class");
                        Check.That(caught.Message.Contains($"it is {code}"), caught.Message);
                        Exception root = caught;
                        while (root.InnerException != null) root = root.InnerException;
                        Check.That(ReferenceEquals(root, thrown), "the cause is what the callback threw");
                    }
                }
            }
        }

        public static void MessagesNameOpAndValues(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor a = dl.Tensor(new float[6], 2, 3), b = dl.Tensor(new float[8], 4, 2);
                var error = Check.Throws<InvalidArgumentException>(() => a.Matmul(b), "matmul", "[2, 3]", "[4, 2]");
                Check.Equal(error.Op, "matmul");
                Check.Equal(error.Code, StatusCode.InvalidArgument);
                Check.Throws<NotFoundException>(() => dl.FindOp("cat"), "concat");
                Check.Throws<NotFoundException>(() => engine.Context("nowhere"), "cpu");
                Check.Throws<NotFoundException>(() => engine.LoadPlugin("/no/such/plugin.so"), "plugin.so");
                Check.Throws<InvalidArgumentException>(() => Engine.Open(new EngineOptions { Threads = -1 }), "-1");
                Check.Equal((a + a).Count, 6L, "the context works after an error");
            }
        }

        public static void BadArgumentsAreRefused(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(new float[6], 2, 3);
                Check.Throws<InvalidArgumentException>(() => dl.Add(x, (Tensor)null), "add");
                Check.Throws<InvalidArgumentException>(() => x.Reshape(null), "reshape", "shape", "null");
                Check.Throws<InvalidArgumentException>(() => x.Reshape(new long[1000000]), "1000000", "16");
                Check.Throws<InvalidArgumentException>(() => x.PermuteDims(new long[100]), "100", "32");
                Check.Throws<InvalidArgumentException>(() => x.Gelu(new GeluOptions { Approximate = (GeluApproximate)7 }), "gelu", "7",
                    "tanh");
                Check.Throws<InvalidArgumentException>(() => x.Astype((DType)77), "77");
                Check.Throws<InvalidArgumentException>(() => dl.Concat(Enumerable.Repeat(x, 1000).ToArray()), "1000", "64");
                Check.Throws<InvalidArgumentException>(() => dl.Concat(null));
                Check.Throws<InvalidArgumentException>(() => dl.Invoke(9999, new[] { x }), "9999");
                Check.Throws<InvalidArgumentException>(() => dl.Invoke(1, new[] { x, x }, null, -1), "-1");
                Check.Throws<InvalidArgumentException>(() => dl.Invoke(1, new[] { x, x }, null, 100), "100");
                Check.Throws<InvalidArgumentException>(() => dl.Tensor(new float[5], 2, 3), "tensor");
                Check.Throws<InvalidArgumentException>(() => dl.Tensor(new float[5], -5));
                Check.Throws<InvalidArgumentException>(() => dl.Tensor(new decimal[5]), "Decimal");
                Check.Throws<InvalidArgumentException>(() => dl.Tensor(new DateTime[1, 1]), "DateTime");
                Check.Throws<InvalidArgumentException>(() => dl.Create(DType.Bool, new byte[] { 2 }, 1));
                Check.Throws<InvalidArgumentException>(() => dl.TensorStrided<float>(new float[4], new long[] { 2 }, new long[] { 1, 1 }),
                    "2");
                Check.Throws<OutOfRangeException>(() => Console.Write(x[2]), "2");
                Check.Throws<InvalidArgumentException>(() => Console.Write(x[0, 0, 0]), "3");
                Check.Throws<InvalidArgumentException>(() => x.Dim(2), "2");
                Check.Throws<InvalidArgumentException>(() => new Linear(dl, -1, 2), "linear_layer", "-1");
                Check.Throws<ArgumentNullException>(() => new Linear(null, 1, 2));
                Check.Throws<ArgumentNullException>(() => new Sequential(dl, new Module[] { null }));
                Check.Throws<ArgumentNullException>(() => new Linear(dl, 1, 1).Call(null));
                Check.Throws<ArgumentNullException>(() => dl.Tensor((float[])null));
                Check.Throws<ArgumentNullException>(() => Console.Write((Tensor)null + (Tensor)null));
                Check.Throws<InvalidArgumentException>(() => Engine.Adopt(IntPtr.Zero), "engine");
                Check.Throws<NotFoundException>(() => new Linear(dl, 1, 1).Load("/no/such/file"), "/no/such/file");
                Check.Throws<InvalidArgumentException>(() => dl.Data.Source("nonsense").Batch(1));
                Check.Throws<ArgumentNullException>(() => dl.Data.FromTensors(null, null).Batch(1));
                Check.Throws<InvalidArgumentException>(() => dl.Grad(new[] { x }, new[] { x }, new Tensor[2]), "seeds");
                Check.Throws<InvalidArgumentException>(() => Graph.Parse(dl, "nonsense"));
                Check.Throws<InvalidArgumentException>(() => Graph.Parse(dl, ""));
                Check.Throws<ArgumentNullException>(() => dl.RegisterOp("op", null));
                Check.Throws<InvalidArgumentException>(() => dl.RegisterOp("op", new CustomOp()), "op");
            }
        }

        public static void ContextsDoNotMix(Engine engine)
        {
            using (var one = engine.Context())
            using (var two = engine.Context())
            {
                Tensor a = one.Scalar(1f), b = two.Scalar(2f);
                Check.Throws<FailedPreconditionException>(() => Console.Write(a + b), "another context", "On");
                Check.Throws<FailedPreconditionException>(() => new Variable(one, "v", b), "another context");
                Tensor moved = b.On(one);
                Check.Equal((a + moved).ToSingle(), 3f);
                b.Dispose();
                Check.Equal(moved.ToSingle(), 2f, "lives on its own");
            }
        }

        public static void OneCallAtATime(Engine engine)
        {
            using (var dl = engine.Context())
            using (var inside = new ManualResetEventSlim())
            using (var go = new ManualResetEventSlim())
            {
                int op = dl.RegisterOp("waits", new CustomOp
                {
                    Infer = call => call.SetOutputLike(0, call.Input(0)),
                    Forward = call =>
                    {
                        inside.Set();
                        go.Wait();
                        call.SetOutput(0, call.Input(0));
                    },
                });
                Tensor x = dl.Scalar(1f);
                var thread = new Thread(() => dl.Invoke(op, new[] { x }));
                thread.Start();
                inside.Wait();
                Check.Throws<FailedPreconditionException>(() => x.Exp(), "one call at a time");
                go.Set();
                thread.Join();
                Check.Equal(x.Square().ToSingle(), 1f, "and goes on");
            }
        }

        public static void OutOfMemoryIsAnError(Engine engine)
        {
            using (var small = Engine.Open(new EngineOptions { Threads = 1, MemoryLimit = 1 << 20 }))
            using (var dl = small.Context())
            {
                Check.Throws<ResourceExhaustedException>(() => dl.Full(new long[] { 1 << 20 }));
                Check.Equal(dl.Full(new long[] { 4 }, 2).Sum().ToSingle(), 8f);
            }
        }
    }
}
