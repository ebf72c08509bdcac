// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>A number next to a tensor. It is weak: it takes the dtype of the tensor it meets.</summary>
    public readonly struct Scalar
    {
        internal readonly int Kind;
        internal readonly long Word;

        private Scalar(int kind, long word)
        {
            Kind = kind;
            Word = word;
        }

        /// <summary>A real number.</summary>
        /// <param name="value">the number</param>
        public static implicit operator Scalar(double value) =>
            new Scalar(Raw.DLCORE_SCALAR_F64, BitConverter.DoubleToInt64Bits(value));

        /// <summary>An integer.</summary>
        /// <param name="value">the number</param>
        public static implicit operator Scalar(long value) => new Scalar(Raw.DLCORE_SCALAR_I64, value);

        /// <summary>An integer.</summary>
        /// <param name="value">the number</param>
        public static implicit operator Scalar(int value) => new Scalar(Raw.DLCORE_SCALAR_I64, value);

        /// <summary>A truth value.</summary>
        /// <param name="value">the value</param>
        public static implicit operator Scalar(bool value) => new Scalar(Raw.DLCORE_SCALAR_BOOL, value ? 1 : 0);
    }

    /// <summary>A tensor, or a number that takes the dtype of the tensors it meets.</summary>
    public readonly struct Operand
    {
        internal readonly Tensor Tensor;
        internal readonly Scalar Number;

        private Operand(Tensor tensor, Scalar number)
        {
            Tensor = tensor;
            Number = number;
        }

        /// <summary>A tensor.</summary>
        /// <param name="tensor">the tensor</param>
        public static implicit operator Operand(Tensor tensor)
        {
            if (tensor == null) throw new ArgumentNullException(nameof(tensor));
            return new Operand(tensor, default(Scalar));
        }

        /// <summary>A number.</summary>
        /// <param name="number">the number</param>
        public static implicit operator Operand(Scalar number) => new Operand(null, number);

        /// <summary>A real number.</summary>
        /// <param name="value">the number</param>
        public static implicit operator Operand(double value) => new Operand(null, value);

        /// <summary>An integer.</summary>
        /// <param name="value">the number</param>
        public static implicit operator Operand(long value) => new Operand(null, value);

        /// <summary>An integer.</summary>
        /// <param name="value">the number</param>
        public static implicit operator Operand(int value) => new Operand(null, value);

        /// <summary>A truth value.</summary>
        /// <param name="value">the value</param>
        public static implicit operator Operand(bool value) => new Operand(null, value);
    }
}
