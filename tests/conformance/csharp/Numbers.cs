// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dlcore.Conformance
{
    /// <summary>How far a result may be from what is expected.</summary>
    internal sealed class Tolerance
    {
        internal readonly double Relative, Absolute, Ulp;
        internal readonly bool SignedZero;

        internal Tolerance(object json, bool signedZero = false)
        {
            SignedZero = signedZero;
            if (json == null) return;
            Relative = Convert.ToDouble(Case.Member(json, "rtol") ?? 0.0);
            Absolute = Convert.ToDouble(Case.Member(json, "atol") ?? 0.0);
            Ulp = Convert.ToDouble(Case.Member(json, "ulp") ?? 0.0);
        }
    }

    /// <summary>Elements as numbers, and when two lists of them agree.</summary>
    internal static class Numbers
    {
        internal static bool IsFloat(DType dtype) =>
            dtype == DType.F16 || dtype == DType.BF16 || dtype == DType.F32 || dtype == DType.F64;

        internal static long[] Integers(Elements from)
        {
            byte[] b = from.Bytes;
            switch (from.DType)
            {
                case DType.I8: return Array.ConvertAll(b, value => (long)(sbyte)value);
                case DType.I16: return Each(b, 2, at => (long)BitConverter.ToInt16(b, at));
                case DType.I32: return Each(b, 4, at => (long)BitConverter.ToInt32(b, at));
                case DType.I64: return Each(b, 8, at => BitConverter.ToInt64(b, at));
                default: return Array.ConvertAll(b, value => (long)value);
            }
        }

        internal static double[] Reals(Elements from)
        {
            byte[] b = from.Bytes;
            switch (from.DType)
            {
                case DType.F64: return Each(b, 8, at => BitConverter.ToDouble(b, at));
                case DType.F32: return Each(b, 4, at => (double)BitConverter.ToSingle(b, at));
                case DType.F16: return Each(b, 2, at => (double)new Float16(BitConverter.ToUInt16(b, at)));
                case DType.BF16: return Each(b, 2, at => (double)new BFloat16(BitConverter.ToUInt16(b, at)));
                default: return Array.ConvertAll(Integers(from), value => (double)value);
            }
        }

        internal static Elements Encode(double[] values, long[] shape, DType dtype)
        {
            IEnumerable<byte[]> parts;
            if (dtype == DType.F64) parts = values.Select(BitConverter.GetBytes);
            else if (dtype == DType.F32) parts = values.Select(value => BitConverter.GetBytes((float)value));
            else if (dtype == DType.F16) parts = values.Select(value => BitConverter.GetBytes(((Float16)value).Bits));
            else parts = values.Select(value => BitConverter.GetBytes(((BFloat16)value).Bits));
            return new Elements { DType = dtype, Shape = shape, Bytes = parts.SelectMany(part => part).ToArray() };
        }

        /// <summary>What differs, or null.</summary>
        internal static string Difference(Elements got, Elements expected, Tolerance tolerance)
        {
            if (IsFloat(got.DType) != IsFloat(expected.DType)) return $"dtype is {got.DType}, expected one like {expected.DType}";
            if (got.Count != expected.Count) return $"has {got.Count} elements, expected {expected.Count}";
            if (!IsFloat(got.DType))
            {
                long[] a = Integers(got), b = Integers(expected);
                int at = Enumerable.Range(0, a.Length).FirstOrDefault(i => a[i] != b[i], -1);
                return at < 0 ? null : $"element {at} is {a[at]}, expected {b[at]}";
            }
            double[] found = Reals(got), wanted = Reals(expected);
            int first = Enumerable.Range(0, found.Length).FirstOrDefault(i => !Agree(found[i], wanted[i], got.DType, tolerance), -1);
            return first < 0 ? null : $"element {first} is {found[first]:R}, expected {wanted[first]:R}";
        }

        private static int FirstOrDefault(this IEnumerable<int> items, Func<int, bool> matches, int otherwise)
        {
            foreach (int item in items)
            {
                if (matches(item)) return item;
            }
            return otherwise;
        }

        private static T[] Each<T>(byte[] bytes, int size, Func<int, T> read)
        {
            var values = new T[bytes.Length / size];
            for (int i = 0; i < values.Length; ++i) values[i] = read(i * size);
            return values;
        }

        private static bool Agree(double got, double expected, DType dtype, Tolerance tolerance)
        {
            if (double.IsNaN(got) || double.IsNaN(expected)) return double.IsNaN(got) && double.IsNaN(expected);
            double rounded = RoundTo(expected, dtype);
            if (tolerance.SignedZero && rounded == 0 && IsNegative(got) != IsNegative(rounded)) return false;
            if (got == rounded) return true;
            if (double.IsInfinity(got) || double.IsInfinity(expected)) return false;
            double allowed = tolerance.Absolute + tolerance.Relative * Math.Abs(expected);
            if (tolerance.Ulp > 0) allowed += tolerance.Ulp * Spacing(expected, dtype);
            return Math.Abs(got - expected) <= allowed;
        }

        private static bool IsNegative(double value) => BitConverter.DoubleToInt64Bits(value) < 0;

        /// <summary>Distance to the next number of the dtype.</summary>
        private static double Spacing(double value, DType dtype)
        {
            int fraction = dtype == DType.F16 ? 10 : dtype == DType.BF16 ? 7 : dtype == DType.F32 ? 23 : 52;
            int least = dtype == DType.F16 ? -14 : dtype == DType.F64 ? -1022 : -126;
            long raw = (BitConverter.DoubleToInt64Bits(Math.Abs(value)) >> 52) - 1023;
            long exponent = Math.Max(value == 0 ? least : raw, least);
            return Math.Pow(2, exponent - fraction);
        }

        private static double RoundTo(double value, DType dtype)
        {
            switch (dtype)
            {
                case DType.F32: return (float)value;
                case DType.F16: return (Float16)value;
                case DType.BF16: return (BFloat16)value;
                default: return value;
            }
        }
    }
}
