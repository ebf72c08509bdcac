// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Dlcore.Tests
{
    internal static class TransformTests
    {
        // f(x) = sum of x^3, whose derivatives are 3 x^2 and 6 x.
        private static readonly Func<Tensor, Tensor> Cubes = x => (x * x * x).Sum();
        private static readonly double[] Point = { 1, 2, -3 };

        public static void ReverseModeOfAnyOrder(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(Point);
                Check.Same(dl.Grad(Cubes, x).ToArray<double>(), new double[] { 3, 12, 27 });
                var (value, gradient) = dl.ValueAndGrad(Cubes, x);
                Check.Equal(value.ToDouble(), -18.0);
                Check.Same(gradient.ToArray<double>(), new double[] { 3, 12, 27 });
                Check.Same(dl.Grad(y => dl.Grad(Cubes, y).Sum(), x).ToArray<double>(), new double[] { 6, 12, -18 });
                Tensor[] both = dl.Grad(xs => (xs[0] * xs[1]).Sum(), x, x + 1);
                Check.Same(both[0].ToArray<double>(), new double[] { 2, 3, -2 });
                Check.Same(both[1].ToArray<double>(), Point);
            }
        }

        public static void ForwardModeAndPullbacks(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(Point), direction = dl.Tensor(new double[] { 1, 0, 2 });
                var (value, tangent) = dl.Jvp(Cubes, x, direction);
                Check.Equal(value.ToDouble(), -18.0);
                Check.Equal(tangent.ToDouble(), 57.0);
                var (square, pullback) = dl.Vjp(y => y * y, x);
                Check.Same(square.ToArray<double>(), new double[] { 1, 4, 9 });
                Check.Same(pullback(direction).ToArray<double>(), new double[] { 2, 0, -12 });
                Check.Same(pullback(direction * 2).ToArray<double>(), new double[] { 4, 0, -24 });
                Check.Same(dl.Hessian(Cubes, x).ToArray<double>(), new double[] { 6, 0, 0, 0, 12, 0, 0, 0, -18 });
                Check.Same(dl.Hessian(Cubes, dl.Tensor(Point.Concat(Point).ToArray(), 2, 3)).Shape, new long[] { 2, 3, 2, 3 });
            }
        }

        public static void ExamplesAreMapped(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(new double[] { 1, 2, 3, 4, 5, 6 }, 3, 2);
                Check.Same(dl.Vmap(row => row.Sum(), x).ToArray<double>(), new double[] { 3, 7, 11 });
                Check.Same(dl.Vmap(column => column.Sum(), x, axis: 1).ToArray<double>(), new double[] { 9, 12 });
                Check.Same(dl.Vmap(row => row * 2, x, outAxis: 1).Shape, new long[] { 2, 3 });
                Check.Same(dl.Vmap(row => dl.Grad(Cubes, row), x).ToArray<double>(), x.ToArray<double>().Select(v => 3 * v * v).ToArray());
                Tensor weights = dl.Tensor(new double[] { 1, 10 });
                Tensor shared = dl.Vmap(xs => (xs[0] * xs[1]).Sum(), new[] { x, weights }, new int?[] { 0, null });
                Check.Same(shared.ToArray<double>(), new double[] { 21, 43, 65 });
                Check.Throws<InvalidArgumentException>(() => dl.Vmap(xs => xs[0], new[] { x }, new int?[] { null }), "vmap");
                // A function that throws leaves no level open.
                Check.Throws<FormatException>(() => dl.Vmap(row => { throw new FormatException(); }, x));
                Check.Throws<FormatException>(() => dl.Jvp(y => { throw new FormatException(); }, x, x));
                Check.Equal(x.Sum().ToDouble(), 21.0);
            }
        }

        public static void ModesAreRestored(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Check.That(dl.IsRecording && dl.IsTraining, "contexts open recording and training");
                Tensor leaf = dl.Scalar(2.0).Watch();
                using (dl.NoGrad()) Check.That(!leaf.Square().RequiresGrad && dl.IsTraining, "no history");
                Check.Throws<FormatException>(() =>
                {
                    using (dl.Inference())
                    {
                        Check.That(!dl.IsRecording && !dl.IsTraining, "inference");
                        throw new FormatException();
                    }
                });
                Check.That(dl.IsRecording && dl.IsTraining, "restored");
                Check.That(leaf.Square().RequiresGrad, "history again");
                using (var still = engine.Context(inference: true))
                {
                    Check.That(!still.IsRecording && !still.IsTraining, "opened for inference");
                }
            }
        }

        public static void GradientsOfUnusedTensorsAndTheirHistory(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Scalar(2.0).Watch(), unused = dl.Scalar(1.0).Watch();
                Tensor y = x * x;
                Check.Throws<FailedPreconditionException>(() => dl.Grad(new[] { y }, new[] { unused }, null,
                    new GradOptions { RetainGraph = true }));
                Tensor[] gradients = dl.Grad(new[] { y }, new[] { x, unused }, null, new GradOptions { AllowUnused = true });
                Check.Equal(gradients[0].ToDouble(), 4.0);
                Check.Equal(gradients[1], null);
                Check.Throws<FailedPreconditionException>(() => dl.Grad(new[] { y }, new[] { x }));
            }
        }

        public static void GradcheckFindsAWrongDerivative(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                int wrong = dl.RegisterOp("wrong", new CustomOp
                {
                    Infer = call => call.SetOutputLike(0, call.Input(0)),
                    Forward = call => call.SetOutput(0, call.Input(0).Square()),
                    Backward = call => call.SetInputGradient(0, call.Gradient(0) * call.Input(0)),
                });
                Tensor x = dl.Tensor(Point);
                dl.GradCheck((child, xs) => xs[0].Square() * xs[1], new[] { x, x + 1 }, order: 2);
                Check.Throws<FailedPreconditionException>(() => dl.GradCheck((child, xs) => child.Invoke(wrong, xs)[0], new[] { x }));
            }
        }
    }
}
