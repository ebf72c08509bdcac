// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Dlcore
{
    // Making tensors from the elements of the program.
    public sealed unsafe partial class Context
    {
        /// <summary>A tensor with a copy of an array's elements, in row-major order.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="elements">as many as the product of the shape</param>
        /// <param name="shape">its size along each axis; none for one axis as long as the array</param>
        /// <returns>the tensor</returns>
        public Tensor Tensor<T>(T[] elements, params long[] shape)
            where T : struct
        {
            if (elements == null) throw new ArgumentNullException(nameof(elements));
            return Tensor((ReadOnlySpan<T>)elements, shape);
        }

        /// <summary>A tensor with a copy of elements, in row-major order.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="elements">as many as the product of the shape</param>
        /// <param name="shape">its size along each axis; none for one axis as long as the elements</param>
        /// <returns>the tensor</returns>
        public Tensor Tensor<T>(ReadOnlySpan<T> elements, params long[] shape)
            where T : struct
        {
            if (shape == null || shape.Length == 0) shape = new long[] { elements.Length };
            return Create(Elements<T>.Needed("tensor"), MemoryMarshal.AsBytes(elements), shape);
        }

        /// <summary>A tensor with a copy of elements, in row-major order.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="elements">as many as the product of the shape</param>
        /// <param name="shape">its size along each axis; none for one axis as long as the elements</param>
        /// <returns>the tensor</returns>
        public Tensor Tensor<T>(ReadOnlyMemory<T> elements, params long[] shape)
            where T : struct => Tensor(elements.Span, shape);

        /// <summary>A tensor with a copy of elements, in row-major order.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="elements">as many as the product of the shape</param>
        /// <param name="shape">its size along each axis; none for one axis as long as the elements</param>
        /// <returns>the tensor</returns>
        public Tensor Tensor<T>(Span<T> elements, params long[] shape)
            where T : struct => Tensor((ReadOnlySpan<T>)elements, shape);

        /// <summary>A tensor with a copy of elements, in row-major order.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="elements">as many as the product of the shape</param>
        /// <param name="shape">its size along each axis; none for one axis as long as the elements</param>
        /// <returns>the tensor</returns>
        public Tensor Tensor<T>(Memory<T> elements, params long[] shape)
            where T : struct => Tensor((ReadOnlySpan<T>)elements.Span, shape);

        /// <summary>A tensor of the shape and elements of an array of several dimensions.</summary>
        /// <param name="elements">such as a float[,]</param>
        /// <returns>the tensor</returns>
        public Tensor Tensor(Array elements)
        {
            if (elements == null) throw new ArgumentNullException(nameof(elements));
            DType dtype = Elements.Needed(elements.GetType().GetElementType(), "tensor");
            if (dtype == DType.F16 || dtype == DType.BF16)
            {
                throw new InvalidArgumentException(
                    $"tensor: no halves in several dimensions: they are {dtype}, expected one dimension and a shape");
            }
            var shape = new long[elements.Rank];
            for (int axis = 0; axis < shape.Length; ++axis) shape[axis] = elements.GetLongLength(axis);
            var bytes = new byte[Buffer.ByteLength(elements)];
            Buffer.BlockCopy(elements, 0, bytes, 0, bytes.Length);
            return Create(dtype, bytes, shape);
        }

        /// <summary>A tensor from elements laid out with strides: (i, j...) is elements[offset + i strides[0] + j
        /// strides[1]...].</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="elements">where they lie</param>
        /// <param name="shape">its size along each axis</param>
        /// <param name="strides">distance of neighbours along each axis, in elements; may be 0 or negative</param>
        /// <param name="offset">of the first element</param>
        /// <returns>the tensor</returns>
        public Tensor TensorStrided<T>(ReadOnlySpan<T> elements, long[] shape, long[] strides, long offset = 0)
            where T : struct
        {
            DType dtype = Elements<T>.Needed("tensor_strided");
            if (shape == null) throw new ArgumentNullException(nameof(shape));
            if (strides == null) throw new ArgumentNullException(nameof(strides));
            if (shape.Length != strides.Length)
            {
                throw new InvalidArgumentException(
                    $"tensor_strided: shape and strides differ: there are {strides.Length} strides, expected {shape.Length}");
            }
            byte empty = 0;
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(elements);
            IntPtr ctx = Enter();
            try
            {
                fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                fixed (long* sizes = shape, steps = strides)
                {
                    return Made(ctx, Raw.dlcore_tensor_create_strided(
                        ctx, (int)dtype, sizes, steps, shape.Length, bytes.IsEmpty ? &empty : data, (ulong)elements.Length, offset));
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>A tensor of rank 0.</summary>
        /// <typeparam name="T">float for f32, long for i64, Float16 for f16...</typeparam>
        /// <param name="value">its element</param>
        /// <returns>the tensor</returns>
        public Tensor Scalar<T>(T value)
            where T : struct =>
            Create(Elements<T>.Needed("scalar"), MemoryMarshal.AsBytes((ReadOnlySpan<T>)new[] { value }), new long[0]);

        /// <summary>A tensor of rank 0 that takes the dtype of what it meets.</summary>
        /// <param name="number">its value</param>
        /// <returns>the tensor</returns>
        public Tensor Weak(Scalar number)
        {
            IntPtr ctx = Enter();
            IntPtr made = number.Kind == Raw.DLCORE_SCALAR_F64
                ? Raw.dlcore_tensor_weak_f64(ctx, BitConverter.Int64BitsToDouble(number.Word))
                : number.Kind == Raw.DLCORE_SCALAR_I64 ? Raw.dlcore_tensor_weak_i64(ctx, number.Word)
                : Raw.dlcore_tensor_weak_bool(ctx, (byte)number.Word);
            return Finish(ctx, made);
        }

        /// <summary>A tensor from the bytes of its elements, in row-major order.</summary>
        /// <param name="dtype">type of the elements</param>
        /// <param name="bytes">exactly as many as dtype and shape need</param>
        /// <param name="shape">its size along each axis; none for rank 0</param>
        /// <returns>the tensor</returns>
        public Tensor Create(DType dtype, ReadOnlySpan<byte> bytes, params long[] shape)
        {
            if (shape == null) throw new ArgumentNullException(nameof(shape));
            byte empty = 0; // an empty span has no address
            IntPtr ctx = Enter();
            try
            {
                fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                fixed (long* sizes = shape)
                {
                    return Made(ctx, Raw.dlcore_tensor_create(
                        ctx, (int)dtype, sizes, shape.Length, bytes.IsEmpty ? &empty : data, (ulong)bytes.Length));
                }
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>A new reference to a tensor of another context, on which a call may run meanwhile. A tensor is given
        /// back only after its address is gone, so an address that is still there was retained in time.</summary>
        internal static Tensor Lend(Tensor tensor, Context borrower)
        {
            IntPtr address = tensor.Address;
            Raw.dlcore_tensor_retain(address);
            Thread.MemoryBarrier();
            if (tensor.Address != address || address == IntPtr.Zero) throw tensor.Context.Refused(tensor);
            IntPtr ctx = borrower.Enter();
            return borrower.Finish(ctx, address);
        }

        internal Tensor KeepInnermost(Tensor tensor) => Keep(scope, tensor);
    }
}
