// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using Dlcore.Nn;

namespace Dlcore.Tests
{
    internal static class CallbackTests
    {
        private static CustomOp Cube => new CustomOp
        {
            Infer = call => call.SetOutputLike(0, call.Input(0)),
            Forward = call => call.SetOutput(0, call.Input(0) * call.Input(0) * call.Input(0)),
            Backward = call =>
            {
                if (call.NeedsGradient(0)) call.SetInputGradient(0, call.Gradient(0) * call.Input(0).Square() * 3);
            },
        };

        public static void ACustomOpHasDerivativesOfAnyOrder(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                int op = dl.RegisterOp("cube", Cube);
                Check.Equal(dl.OpName(op), "cube");
                Check.Equal(dl.FindOp("cube"), op);
                Func<Tensor, Tensor> cube = x => dl.Invoke(op, new[] { x })[0].Sum();
                Tensor at = dl.Tensor(new[] { 2.0, -1.0 });
                Check.Same(dl.Grad(cube, at).ToArray<double>(), new[] { 12.0, 3.0 });
                Check.Same(dl.Hessian(cube, at).ToArray<double>(), new[] { 12.0, 0, 0, -6 });
                dl.GradCheck((child, xs) => child.Invoke(op, xs)[0], new[] { at }, order: 2);
                Check.Throws<AlreadyExistsException>(() => dl.RegisterOp("cube", Cube), "cube");
                Check.Throws<AlreadyExistsException>(() => dl.RegisterOp("add", Cube), "add");
            }
        }

        public static void ACustomOpTakesAttributesAndSeveralTensors(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                int op = dl.RegisterOp("sum_and_scaled", new CustomOp
                {
                    Inputs = 2,
                    Outputs = 2,
                    Attributes = 1,
                    Infer = call =>
                    {
                        Check.Equal(call.InputCount, 2);
                        call.SetOutputType(0, DType.F32, call.Input(0).Shape);
                        call.SetOutputLike(1, call.Input(1));
                    },
                    Forward = call =>
                    {
                        call.SetOutput(0, call.Input(0) + call.Input(1));
                        call.SetOutput(1, call.Input(1) * call.Attribute(0));
                    },
                });
                Tensor[] made = dl.Invoke(op, new[] { dl.Scalar(1f), dl.Scalar(2f) }, new long[] { 5 }, 2);
                Check.Equal(made[0].ToSingle(), 3f);
                Check.Equal(made[1].ToSingle(), 10f);
            }
        }

        public static void AnotherBindingsEngineIsAdopted(Engine engine)
        {
            using (var dl = engine.Context())
            {
                dl.RegisterOp("cube", Cube);
                using (Engine adopted = Engine.Adopt(engine.Handle))
                using (var other = adopted.Context())
                {
                    Check.Equal(other.Invoke(other.FindOp("cube"), new[] { other.Scalar(3f) })[0].ToSingle(), 27f);
                }
                Check.Equal(dl.Scalar(1f).Exp().Count, 1L, "elements after the adopted engine was disposed of");
            }
        }

        public static void ExceptionsOfCallbacksArrive(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Scalar(1.0);
                var thrown = new FormatException("odd \U0001F642 format");
                int forward = dl.RegisterOp("bad_forward", new CustomOp { Infer = Cube.Infer, Forward = call => { throw thrown; } });
                int infer = dl.RegisterOp("bad_infer", new CustomOp { Infer = call => { throw thrown; }, Forward = Cube.Forward });
                int backward = dl.RegisterOp("bad_backward", new CustomOp { Infer = Cube.Infer, Forward = Cube.Forward, Backward = call =>
                    { throw thrown; } });
                int silent = dl.RegisterOp("forgets", new CustomOp { Infer = Cube.Infer, Forward = call => { } });
                Carries(thrown, () => dl.Invoke(forward, new[] { x }));
                Carries(thrown, () => dl.Invoke(infer, new[] { x }));
                Carries(thrown, () => dl.Grad(at => dl.Invoke(backward, new[] { at })[0], x));
                Carries(thrown, () => dl.GradCheck((child, xs) => { throw thrown; }, new[] { x }));
                Carries(thrown, () => new Throwing(dl, thrown).Call(x));
                try
                {
                    dl.Invoke(silent, new[] { x });
                    throw new Failure("an op without a result was accepted");
                }
                catch (DlcoreException error)
                {
                    Check.That(error.Message.Contains("forgets"), error.Message);
                }
                Check.Equal(x.Exp().Count, 1L, "elements after the errors");
            }
        }

        public static void CallbacksKeepToTheirContext(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Tensor outer = dl.Scalar(2f), x = dl.Scalar(3f), escaped = null;
                Context child = null;
                int op = dl.RegisterOp("curious", new CustomOp
                {
                    Infer = Cube.Infer,
                    Forward = call =>
                    {
                        child = call.Context;
                        escaped = call.Input(0) * 1;
                        Check.Throws<FailedPreconditionException>(() => outer.Exp(), "one call at a time");
                        Check.Throws<FailedPreconditionException>(() => Console.Write(call.Input(0) + outer), "another context");
                        Check.Throws<OutOfRangeException>(() => call.Input(1), "1");
                        Check.Equal((call.Input(0) + outer.On(call.Context)).ToSingle(), 5f);
                        x.Dispose(); // takes effect after the call
                        x.Dispose();
                        call.SetOutput(0, call.Input(0) * 2);
                    },
                });
                Check.Equal(dl.Invoke(op, new[] { x })[0].ToSingle(), 6f);
                Check.That(x.IsClosed && escaped.IsClosed && child.IsClosed, "closed after the call");
                Check.Throws<ObjectDisposedException>(() => child.Scalar(1f));

                int closes = dl.RegisterOp("closes", new CustomOp
                {
                    Infer = Cube.Infer,
                    Forward = call =>
                    {
                        dl.Dispose();
                        call.SetOutput(0, call.Input(0));
                    },
                });
                Tensor made = dl.Invoke(closes, new[] { outer })[0];
                Check.That(dl.IsClosed && made.IsClosed, "the context is closed when the call is over");
            }
        }

        public static void StreamsAreReadAndWritten(Engine engine)
        {
            using (var dl = engine.Context(seed: 1))
            using (var other = engine.Context(seed: 2))
            {
                var model = new Linear(dl, 300, 200);
                var copy = new Linear(other, 300, 200);
                var stream = new MemoryStream();
                model.Save(stream);
                stream.Position = 0;
                copy.Load(new Trickle(stream));
                Check.Same(Weights(copy), Weights(model));
                copy = new Linear(other, 300, 200);
                copy.Load(stream.ToArray());
                Check.Same(Weights(copy), Weights(model));
                using (Archive archive = Archive.Open(dl, stream.ToArray())) Check.Same(archive.Names.ToArray(), new[] { "bias",
                    "weight" });
                stream.Position = 0;
                using (Archive archive = Archive.Open(dl, stream)) Check.Same(archive["bias"].Shape, new long[] { 200 });
                Check.Throws<DataLossException>(() => copy.Load(stream.ToArray().Take(1000).ToArray()));
                Check.Same(Weights(copy), Weights(model), "weights after a failed load");
            }
        }

        public static void ExceptionsOfStreamsArrive(Engine engine)
        {
            using (var dl = engine.Context())
            {
                var model = new Linear(dl, 3, 2);
                var thrown = new IOException("the disk is \U0001F642 full");
                Carries(thrown, () => model.Save(new Broken(thrown)));
                Carries(thrown, () => model.Load(new Broken(thrown)));
                Carries(thrown, () => new Checkpoint(dl).Add("m", model).Save(new Broken(thrown)));
                Carries(thrown, () => new Checkpoint(dl).Add("m", model).Load(new Broken(thrown)));
                Carries(thrown, () => Archive.Open(dl, new Broken(thrown)));
                Check.Throws<ArgumentNullException>(() => model.Save((Stream)null));
            }
        }

        /// <summary>Requires an exception with the text of the thrown one, and the thrown one as its root.</summary>
        private static void Carries(Exception thrown, Action action)
        {
            try
            {
                action();
            }
            catch (DlcoreException error)
            {
                Check.That(error.Message.Contains(thrown.Message), $"'{error.Message}' lacks '{thrown.Message}'");
                Exception root = error;
                while (root.InnerException != null) root = root.InnerException;
                Check.That(ReferenceEquals(root, thrown), $"the root is {root}");
                return;
            }
            throw new Failure("the exception did not arrive");
        }

        private static float[] Weights(Module module) => module.Find("weight").Value.ToArray<float>();

        private sealed class Throwing : CustomModule
        {
            private readonly Exception thrown;

            internal Throwing(Context dl, Exception thrown)
                : base(dl)
            {
                this.thrown = thrown;
            }

            protected override Tensor Forward(Tensor x)
            {
                throw thrown;
            }
        }

        private sealed class Trickle : MemoryStream
        {
            internal Trickle(MemoryStream from)
                : base(from.ToArray())
            {
            }

            public override int Read(byte[] buffer, int offset, int count) => base.Read(buffer, offset, Math.Min(count, 7));
        }

        private sealed class Broken : MemoryStream
        {
            private readonly Exception thrown;

            internal Broken(Exception thrown)
            {
                this.thrown = thrown;
            }

            public override void Write(byte[] buffer, int offset, int count)
            {
                throw thrown;
            }

            public override int Read(byte[] buffer, int offset, int count)
            {
                throw thrown;
            }
        }
    }
}
