// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Dlcore
{
    /// <summary>The dtypes that element types of C# stand for.</summary>
    internal static class Elements
    {
        internal static DType Needed(Type type, string what)
        {
            DType dtype = Of(type);
            if (dtype != DType.None) return dtype;
            throw new InvalidArgumentException(
                $"{what}: no dtype for these elements: they are {type.Name}, expected bool, byte, sbyte, short, int, long, " +
                "Float16, BFloat16, float or double");
        }

        internal static DType Of(Type type)
        {
            if (type == typeof(float)) return DType.F32;
            if (type == typeof(double)) return DType.F64;
            if (type == typeof(long)) return DType.I64;
            if (type == typeof(int)) return DType.I32;
            if (type == typeof(short)) return DType.I16;
            if (type == typeof(sbyte)) return DType.I8;
            if (type == typeof(byte)) return DType.U8;
            if (type == typeof(bool)) return DType.Bool;
            if (type == typeof(Float16)) return DType.F16;
            return type == typeof(BFloat16) ? DType.BF16 : DType.None;
        }
    }

    /// <summary>The same, looked up once for each type.</summary>
    internal static class Elements<T>
        where T : struct
    {
        private static readonly DType Found = Elements.Of(typeof(T));

        internal static DType Needed(string what) => Found != DType.None ? Found : Elements.Needed(typeof(T), what);
    }

    /// <summary>An IEEE 754 binary16 number, element of tensors of dtype f16.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public readonly struct Float16 : IEquatable<Float16>
    {
        /// <summary>The bits.</summary>
        public readonly ushort Bits;

        /// <summary>The number of these bits.</summary>
        /// <param name="bits">sign, 5 bits of exponent, 10 of fraction</param>
        public Float16(ushort bits)
        {
            Bits = bits;
        }

        /// <summary>The nearest number, ties to even.</summary>
        /// <param name="value">the number</param>
        public static explicit operator Float16(double value) => new Float16(HalfBits.Encode(value, 10));

        /// <summary>The same number.</summary>
        /// <param name="value">the number</param>
        public static implicit operator float(Float16 value) => (float)HalfBits.Decode(value.Bits, 10);

        /// <inheritdoc/>
        public bool Equals(Float16 other) => ((float)this).Equals(other);

        /// <inheritdoc/>
        public override bool Equals(object other) => other is Float16 && Equals((Float16)other);

        /// <inheritdoc/>
        public override int GetHashCode() => ((float)this).GetHashCode();

        /// <inheritdoc/>
        public override string ToString() => ((float)this).ToString();
    }

    /// <summary>The upper half of a float, element of tensors of dtype bf16.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public readonly struct BFloat16 : IEquatable<BFloat16>
    {
        /// <summary>The bits.</summary>
        public readonly ushort Bits;

        /// <summary>The number of these bits.</summary>
        /// <param name="bits">sign, 8 bits of exponent, 7 of fraction</param>
        public BFloat16(ushort bits)
        {
            Bits = bits;
        }

        /// <summary>The nearest number, ties to even.</summary>
        /// <param name="value">the number</param>
        public static explicit operator BFloat16(double value) => new BFloat16(HalfBits.Encode(value, 7));

        /// <summary>The same number.</summary>
        /// <param name="value">the number</param>
        public static implicit operator float(BFloat16 value) => (float)HalfBits.Decode(value.Bits, 7);

        /// <inheritdoc/>
        public bool Equals(BFloat16 other) => ((float)this).Equals(other);

        /// <inheritdoc/>
        public override bool Equals(object other) => other is BFloat16 && Equals((BFloat16)other);

        /// <inheritdoc/>
        public override int GetHashCode() => ((float)this).GetHashCode();

        /// <inheritdoc/>
        public override string ToString() => ((float)this).ToString();
    }

    /// <summary>Binary floats in 16 bits, of `fraction` explicit bits and the rest exponent.</summary>
    internal static class HalfBits
    {
        internal static double Decode(ushort bits, int fraction)
        {
            int top = (1 << (15 - fraction)) - 1, bias = top >> 1;
            int exponent = (bits >> fraction) & top, tail = bits & ((1 << fraction) - 1);
            double size = exponent == top ? (tail != 0 ? double.NaN : double.PositiveInfinity)
                : exponent == 0 ? tail * Math.Pow(2, 1 - bias - fraction)
                : (tail + (1 << fraction)) * Math.Pow(2, exponent - bias - fraction);
            return bits >> 15 != 0 ? -size : size;
        }

        internal static ushort Encode(double value, int fraction)
        {
            int top = (1 << (15 - fraction)) - 1, bias = top >> 1;
            int sign = BitConverter.DoubleToInt64Bits(value) < 0 ? 0x8000 : 0;
            if (double.IsNaN(value)) return (ushort)(sign | (top << fraction) | (1 << (fraction - 1)));
            double size = Math.Abs(value);
            if (double.IsInfinity(size)) return (ushort)(sign | (top << fraction));
            long raw = (BitConverter.DoubleToInt64Bits(size) >> 52) - 1023;
            int exponent = (int)Math.Max(raw, 1 - bias);
            // In units of the last place; a carry into the exponent is right, up to infinity.
            double units = Math.Round(size * Math.Pow(2, fraction - exponent), MidpointRounding.ToEven);
            double bits = (exponent - 1 + bias) * (double)(1 << fraction) + units;
            return (ushort)(sign | (int)Math.Min(bits, top << fraction));
        }
    }
}
