// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;

namespace Dlcore.Tests
{
    internal static class ConversionTests
    {
        public static void EveryDtypeGoesThereAndBack(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Round(dl, new[] { true, false, true, true }, DType.Bool);
                Round(dl, new byte[] { 0, 1, 200, 255 }, DType.U8);
                Round(dl, new sbyte[] { -128, -1, 0, 127 }, DType.I8);
                Round(dl, new short[] { short.MinValue, -1, 0, short.MaxValue }, DType.I16);
                Round(dl, new[] { int.MinValue, -1, 0, int.MaxValue }, DType.I32);
                Round(dl, new[] { long.MinValue, -1, 0, long.MaxValue }, DType.I64);
                Round(dl, new[] { (Float16)1.5, (Float16)(-0.1), (Float16)65504, (Float16)6e-8 }, DType.F16);
                Round(dl, new[] { (BFloat16)1.5, (BFloat16)(-0.1), (BFloat16)3e38, (BFloat16)1e-40 }, DType.BF16);
                Round(dl, new[] { 1.5f, float.NaN, float.PositiveInfinity, float.Epsilon }, DType.F32);
                Round(dl, new[] { 1.5, double.NaN, double.NegativeInfinity, double.Epsilon }, DType.F64);
            }
        }

        private static void Round<T>(Context dl, T[] elements, DType dtype)
            where T : struct
        {
            foreach (Tensor tensor in new[]
            {
                dl.Tensor(elements), dl.Tensor(elements, 2, 2), dl.Tensor((ReadOnlySpan<T>)elements, 4, 1),
                    dl.Tensor(new Memory<T>(elements), 4),
                dl.Tensor(new ReadOnlyMemory<T>(elements), 4), dl.Tensor(new Span<T>(elements), 1, 4),
            })
            {
                Check.Equal(tensor.DType, dtype, "dtype");
                Check.Same(tensor.ToArray<T>(), elements);
            }
            Tensor scalar = dl.Scalar(elements[0]);
            Check.Equal(scalar.Rank, 0);
            Check.Equal(scalar.Item<T>(), elements[0]);
            Check.Equal(dl.Tensor(new T[0]).Count, 0L);
            Check.Equal(dl.Tensor(new T[0], 0, 16).Shape.Length, 2, "rank of an empty tensor");
            Check.Equal(dl.Tensor(new T[0], 0, 16).ToArray<T>().Length, 0);
        }

        public static void HalvesRoundAsTheEngineDoes(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                var random = new Random(1);
                Func<int, float> draw = i => (float)((random.NextDouble() - 0.5) * Math.Pow(2, i % 60 - 40));
                float[] values = Enumerable.Range(0, 4000).Select(draw).ToArray();
                Tensor x = dl.Tensor(values);
                Check.Same(x.Astype(DType.F16).ToArray<Float16>(), values.Select(value => (Float16)value).ToArray());
                Check.Same(x.Astype(DType.BF16).ToArray<BFloat16>(), values.Select(value => (BFloat16)value).ToArray());
                Float16[] all = Enumerable.Range(0, 65536).Select(bits => new Float16((ushort)bits)).Where(h => !float.IsNaN(h)).ToArray();
                Check.Same(dl.Tensor(all).Astype(DType.F32).ToArray<float>(), all.Select(h => (float)h).ToArray());
            }
        }

        public static void StridesAndOffsetsAreHonoured(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                int[] base12 = Enumerable.Range(0, 12).ToArray();
                Tensor columns = dl.TensorStrided<int>(base12, new long[] { 3, 2 }, new long[] { 4, 1 }, 1);
                Check.Same(columns.ToArray<int>(), new[] { 1, 2, 5, 6, 9, 10 });
                Check.Same(dl.TensorStrided<int>(base12, new long[] { 4 }, new long[] { -2 }, 11).ToArray<int>(), new[] { 11, 9, 7, 5 });
                Check.Same(dl.TensorStrided<int>(base12, new long[] { 3 }, new long[] { 0 }, 7).ToArray<int>(), new[] { 7, 7, 7 });
                Check.Throws<InvalidArgumentException>(() => dl.TensorStrided<int>(base12, new long[] { 4 }, new long[] { 4 }, 0));

                Tensor matrix = dl.Tensor(base12, 3, 4);
                Tensor view = matrix.PermuteDims(1, 0).Slice(new long[] { 1 }, new long[] { 3 });
                Check.Same(view.Strides, new long[] { 1, 4 }, "strides");
                Check.That(!view.IsContiguous, "a view with gaps");
                Check.Same(view.ToArray<int>(), new[] { 1, 5, 9, 2, 6, 10 });
                Check.Same(matrix[1].ToArray<int>(), new[] { 4, 5, 6, 7 });
                Check.Same(matrix[-1, 2].ToArray<int>(), new[] { 10 });
                Check.Same(dl.Tensor(new ReadOnlySpan<int>(base12, 4, 4), 2, 2).ToArray<int>(), new[] { 4, 5, 6, 7 });
            }
        }

        public static void ArraysOfSeveralDimensionsKeepTheirShape(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(new float[,] { { 1, 2, 3 }, { 4, 5, 6 } });
                Check.Same(x.Shape, new long[] { 2, 3 });
                Check.Same(x.ToArray<float>(), new float[] { 1, 2, 3, 4, 5, 6 });
                Check.Same(dl.Tensor(new bool[,,] { { { true }, { false } } }).Shape, new long[] { 1, 2, 1 });
                Check.Equal(dl.Tensor(new double[0, 5]).Count, 0L);
            }
        }

        public static void ElementsAreNeverReinterpreted(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(new long[] { 1, 2 });
                Check.Throws<InvalidArgumentException>(() => x.ToArray<double>(), "i64");
                Check.Throws<InvalidArgumentException>(() => x.ToArray<int>());
                Check.Throws<InvalidArgumentException>(() => x.CopyTo<long>(new long[3]));
                Check.Throws<InvalidArgumentException>(() => x.ToInt64());
                Check.Throws<InvalidArgumentException>(() => dl.Scalar(1.5f).ToInt64(), "F32");
                Check.Equal(dl.Scalar(3).ToDouble(), 3.0);
                Check.Equal(dl.Scalar(true).ToBoolean(), true);
                Check.Equal(dl.Scalar((Float16)1.5).ToSingle(), 1.5f);
                Check.Equal(dl.Scalar((sbyte)-3).ToInt32(), -3);
                Check.Throws<OverflowException>(() => dl.Scalar(long.MaxValue).ToInt32());
                var target = new long[4];
                x.CopyTo(new Span<long>(target, 1, 2));
                Check.Same(target, new long[] { 0, 1, 2, 0 });
            }
        }

        public static void NumbersAreWeak(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(new[] { (Float16)1, (Float16)3 }), n = dl.Tensor(new byte[] { 1, 2 });
                Check.Equal((x * 2).DType, DType.F16);
                Check.Equal((2.5 * x).DType, DType.F16);
                Check.Equal((n + 1).DType, DType.U8);
                Check.Same((1 - n.Astype(DType.I32)).ToArray<int>(), new[] { 0, -1 });
                Check.Equal(dl.Weak(2).IsWeak, true);
                Check.Equal(dl.Where(x.Greater(2), x, 0.5).DType, DType.F16);
                Check.Same((5 / dl.Tensor(new[] { 2.0 })).ToArray<double>(), new[] { 2.5 });
                Check.Same((-dl.Tensor(new[] { 2.0 })).ToArray<double>(), new[] { -2.0 });
                Check.Same((dl.Tensor(new[] { -7 }) % 3).ToArray<int>(), new[] { 2 });
            }
        }

        public static void TextIsUtf8(Engine engine)
        {
            const string Smile = "a\U0001F642b";
            string path = Path.Combine(Path.GetTempPath(), $"dlcore-{Guid.NewGuid():N}-{Smile}.safetensors");
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Check.Equal(new Variable(dl, Smile, dl.Scalar(1f)).Name, Smile);
                Archive.Save(dl, path, new[] { new System.Collections.Generic.KeyValuePair<string, Tensor>(Smile, dl.Scalar(7f)) });
                try
                {
                    byte[] file = File.ReadAllBytes(path);
                    byte[] wanted = { (byte)'a', 0xF0, 0x9F, 0x99, 0x82, (byte)'b' };
                    Check.That(Enumerable.Range(0, file.Length - 6).Any(at => file.Skip(at).Take(6).SequenceEqual(wanted)),
                        "the bytes F0 9F 99 82 in the file");
                    using (Archive archive = Archive.Open(dl, path))
                    {
                        Check.Same(archive.Names.ToArray(), new[] { Smile });
                        Check.Equal(archive[Smile].ToSingle(), 7f);
                        Check.Throws<NotFoundException>(() => Console.Write(archive["x" + Smile]), Smile);
                    }
                }
                finally
                {
                    File.Delete(path);
                }
                Check.Throws<InvalidArgumentException>(() => new Variable(dl, "a\0b", dl.Scalar(1f)), "zero");
                Check.Throws<InvalidArgumentException>(() => new Variable(dl, "\uD83D", dl.Scalar(1f)), "surrogate");
                Check.Throws<ArgumentNullException>(() => new Variable(dl, null, dl.Scalar(1f)));
                Check.That(dl.Tensor(new[] { 1f, 2f }).ToString().Contains("f32"), "readable text");
            }
        }
    }
}
