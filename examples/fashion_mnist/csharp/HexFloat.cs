// SPDX-License-Identifier: Apache-2.0
using System;

/// <summary>Floats as C's %a writes them, so that files can be compared bit for bit.</summary>
internal static class HexFloat
{
    internal static string Format(double value)
    {
        long bits = BitConverter.DoubleToInt64Bits(value);
        string sign = bits < 0 ? "-" : "";
        long fraction = bits & 0xFFFFFFFFFFFFF;
        int exponent = (int)(bits >> 52 & 0x7FF);
        if (exponent == 0x7FF) return fraction != 0 ? "nan" : sign + "inf";
        if (exponent == 0 && fraction == 0) return sign + "0x0p+0";
        string digits = fraction.ToString("x13").TrimEnd('0');
        int power = exponent == 0 ? -1022 : exponent - 1023;
        return $"{sign}0x{(exponent == 0 ? 0 : 1)}{(digits.Length > 0 ? "." : "")}{digits}p{(power < 0 ? "-" : "+")}{Math.Abs(power)}";
    }
}
