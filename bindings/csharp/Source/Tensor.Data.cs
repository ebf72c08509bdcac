// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Dlcore
{
    // Reading elements, and the arithmetic of C#.
    public sealed unsafe partial class Tensor
    {
        /// <summary>All elements in row-major order, whatever the strides. The type must be that of the dtype.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <returns>a new array</returns>
        public T[] ToArray<T>()
            where T : struct
        {
            var elements = new T[Math.Max(Count, 0)];
            CopyTo<T>(elements);
            return elements;
        }

        /// <summary>Copies all elements in row-major order, whatever the strides.</summary>
        /// <typeparam name="T">the type of the dtype</typeparam>
        /// <param name="elements">as many as the tensor has</param>
        public void CopyTo<T>(Span<T> elements)
            where T : struct
        {
            Read(Elements<T>.Needed("copy_to"), MemoryMarshal.AsBytes(elements));
        }

        /// <summary>Copies the bytes of all elements in row-major order.</summary>
        /// <param name="dtype">that of the tensor</param>
        /// <param name="bytes">as many as the tensor has</param>
        public void Read(DType dtype, Span<byte> bytes)
        {
            byte empty = 0; // an empty span has no address
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
            {
                byte* target = bytes.IsEmpty ? &empty : data;
                IntPtr ctx = Context.Enter();
                try
                {
                    Context.Check(ctx, Raw.dlcore_tensor_read(ctx, Context.Use(this, "tensor"), (int)dtype, target, (ulong)bytes.Length));
                }
                finally
                {
                    Context.Leave();
                }
            }
        }

        /// <summary>The only element of a tensor of that dtype.</summary>
        /// <typeparam name="T">the type of the dtype</typeparam>
        /// <returns>the element</returns>
        public T Item<T>()
            where T : struct
        {
            var element = new T[1];
            CopyTo<T>(element);
            return element[0];
        }

        /// <summary>The only element, of a float dtype or an integer one.</summary>
        /// <returns>its value</returns>
        public double ToDouble()
        {
            switch (DType)
            {
                case DType.F64: return Item<double>();
                case DType.F32: return Item<float>();
                case DType.F16: return Item<Float16>();
                case DType.BF16: return Item<BFloat16>();
                default: return ToInt64();
            }
        }

        /// <summary>The only element, of a float dtype or an integer one; f64 is rounded.</summary>
        /// <returns>its value</returns>
        public float ToSingle() => (float)ToDouble();

        /// <summary>The only element, of an integer dtype or bool.</summary>
        /// <returns>its value</returns>
        public long ToInt64()
        {
            DType dtype = DType;
            switch (dtype)
            {
                case DType.I64: return Item<long>();
                case DType.I32: return Item<int>();
                case DType.I16: return Item<short>();
                case DType.I8: return Item<sbyte>();
                case DType.U8: return Item<byte>();
                case DType.Bool: return Item<bool>() ? 1 : 0;
            }
            throw new InvalidArgumentException($"to_int64: no integer: dtype is {dtype}, expected an integer dtype");
        }

        /// <summary>The only element, of an integer dtype or bool.</summary>
        /// <returns>its value, which must fit</returns>
        public int ToInt32() => checked((int)ToInt64());

        /// <summary>The only element, of dtype bool or an integer one.</summary>
        /// <returns>whether it is not 0</returns>
        public bool ToBoolean() => ToInt64() != 0;

        /// <summary>A part by leading indices: a row of a matrix.</summary>
        /// <param name="indices">one for each of the first axes, counted from the end when negative</param>
        [System.Runtime.CompilerServices.IndexerName("Part")] // Item<T> is taken
        public Tensor this[params long[] indices]
        {
            get
            {
                if (indices == null || indices.Length == 0) throw new InvalidArgumentException("index: no index, expected at least one");
                var axes = new long[indices.Length];
                var stops = new long[indices.Length];
                long[] starts = new long[indices.Length], shape = Shape;
                if (indices.Length > shape.Length)
                {
                    throw new InvalidArgumentException($"index: too many: there are {indices.Length}, expected at most {shape.Length}");
                }
                for (int i = 0; i < axes.Length; ++i)
                {
                    axes[i] = i;
                    starts[i] = indices[i] < 0 ? indices[i] + shape[i] : indices[i];
                    stops[i] = starts[i] + 1;
                    if (starts[i] >= 0 && starts[i] < shape[i]) continue;
                    throw new OutOfRangeException(
                        $"index: out of range: index {i} is {indices[i]}, expected {-shape[i]} to {shape[i] - 1}");
                }
                return Slice(starts, stops, new SliceOptions { Axes = axes }).Squeeze(axes);
            }
        }

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator +(Tensor a, Tensor b) => Of(a, b).Add(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator +(Tensor a, Scalar b) => Of(a).Add(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator +(Scalar a, Tensor b) => Of(b).Add(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator -(Tensor a, Tensor b) => Of(a, b).Subtract(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator -(Tensor a, Scalar b) => Of(a).Subtract(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator -(Scalar a, Tensor b) => Of(b).Subtract(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator *(Tensor a, Tensor b) => Of(a, b).Multiply(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator *(Tensor a, Scalar b) => Of(a).Multiply(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator *(Scalar a, Tensor b) => Of(b).Multiply(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator /(Tensor a, Tensor b) => Of(a, b).Divide(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator /(Tensor a, Scalar b) => Of(a).Divide(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator /(Scalar a, Tensor b) => Of(b).Divide(a, b);

        /// <summary>The remainder, element by element, with the sign of the divisor.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator %(Tensor a, Tensor b) => Of(a, b).Remainder(a, b);

        /// <summary>The remainder, element by element, with the sign of the divisor.</summary>
        /// <param name="a">left</param>
        /// <param name="b">right</param>
        public static Tensor operator %(Tensor a, Scalar b) => Of(a).Remainder(a, b);

        /// <summary>Element by element.</summary>
        /// <param name="x">the tensor</param>
        public static Tensor operator -(Tensor x) => Of(x).Negative(x);

        private static Context Of(Tensor a)
        {
            if (a == null) throw new ArgumentNullException(nameof(a));
            return a.Context;
        }

        private static Context Of(Tensor a, Tensor b) => Of(a ?? b);
    }
}
