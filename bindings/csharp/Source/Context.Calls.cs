// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.CompilerServices;

namespace Dlcore
{
    // Calls of ops, without try blocks: whatever refuses a call leaves the context before it throws.
    public sealed unsafe partial class Context
    {
        /// <summary>Runs an op by its number: of the catalogue, of a plug-in, or a custom one.</summary>
        /// <param name="op">its number</param>
        /// <param name="inputs">its tensors; null stands for an optional one that is absent</param>
        /// <param name="words">its attributes, packed as dlcore/op.h says; null for the defaults</param>
        /// <param name="outputs">how many results are wanted</param>
        /// <returns>the results</returns>
        public Tensor[] Invoke(int op, Tensor[] inputs, long[] words = null, int outputs = 1)
        {
            if (inputs == null) throw new ArgumentNullException(nameof(inputs));
            fixed (long* packed = words)
            {
                return InvokeMany(op, inputs, packed, words == null ? 0 : words.Length, outputs);
            }
        }

        /// <summary>Number of an op by its name, built in or custom, registered by whatever language.</summary>
        /// <param name="name">of the op; a wrong but common one is answered with a hint</param>
        /// <returns>the number</returns>
        public int FindOp(string name)
        {
            byte[] bytes = Text.Needed(name, nameof(name));
            IntPtr ctx = Enter();
            try
            {
                fixed (byte* text = bytes)
                {
                    int number = Raw.dlcore_catalogue_find(ctx, Raw.DLCORE_CATALOGUE_OPS, text);
                    if (number < 0) throw TakeError(ctx);
                    return number;
                }
            }
            finally
            {
                Leave();
            }
        }

        internal Tensor Call0(int op, long* words, long count)
        {
            IntPtr ctx = Enter();
            return Finish(ctx, Raw.dlcore_op_call0(ctx, op, words, count));
        }

        internal Tensor Call1(int op, Tensor a, long* words, long count)
        {
            IntPtr ctx = Enter();
            return Finish(ctx, Raw.dlcore_op_call1(ctx, op, AddressOf(a), words, count));
        }

        internal Tensor Call2(int op, Tensor a, Tensor b, long* words, long count)
        {
            IntPtr ctx = Enter();
            return Finish(ctx, Raw.dlcore_op_call2(ctx, op, AddressOf(a), AddressOf(b), words, count));
        }

        internal Tensor Call3(int op, Tensor a, Tensor b, Tensor c, long* words, long count)
        {
            IntPtr ctx = Enter();
            return Finish(ctx, Raw.dlcore_op_call3(ctx, op, AddressOf(a), AddressOf(b), AddressOf(c), words, count));
        }

        internal Tensor CallScalar(int op, Tensor x, Scalar scalar, int side)
        {
            IntPtr ctx = Enter();
            return Finish(ctx, Raw.dlcore_op_call_scalar(ctx, op, AddressOf(x), scalar.Kind, scalar.Word, side));
        }

        internal Tensor CallMany(int op, Tensor[] inputs, long* words, long count) =>
            InvokeMany(op, inputs, words, count, 1)[0];

        internal Tensor[] InvokeMany(int op, Tensor[] inputs, long* words, long count, int outputs)
        {
            NeedCount("inputs", inputs == null ? -1 : inputs.Length, Raw.DLCORE_MAX_OP_INPUTS);
            NeedCount("outputs", outputs, Raw.DLCORE_MAX_OP_OUTPUTS);
            IntPtr* given = stackalloc IntPtr[Raw.DLCORE_MAX_OP_INPUTS];
            IntPtr* made = stackalloc IntPtr[Raw.DLCORE_MAX_OP_OUTPUTS];
            IntPtr ctx = Enter();
            for (int i = 0; i < inputs.Length; ++i) given[i] = AddressOf(inputs[i]);
            if (Raw.dlcore_op_invoke(ctx, op, given, inputs.Length, words, count, made, outputs, 0) != 0) throw Failed(ctx);
            var tensors = new Tensor[outputs];
            for (int i = 0; i < outputs; ++i) tensors[i] = Track(made[i]);
            Leave();
            return tensors;
        }

        /// <summary>The operands of an op with a variadic list.</summary>
        internal static Tensor[] Gather(Tensor[] first, Tensor[] rest)
        {
            if (rest == null) throw new ArgumentNullException(nameof(rest));
            var all = new Tensor[first.Length + rest.Length];
            first.CopyTo(all, 0);
            rest.CopyTo(all, first.Length);
            return all;
        }

        internal static (Tensor, Tensor) Tuple2(Tensor[] results) => (results[0], results[1]);

        internal static (Tensor, Tensor, Tensor) Tuple3(Tensor[] results) => (results[0], results[1], results[2]);

        internal Tensor Operand(Operand operand) => operand.Tensor ?? Weak(operand.Number);

        /// <summary>The tensor that a call made, or its failure.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal Tensor Finish(IntPtr ctx, IntPtr made)
        {
            if (made == IntPtr.Zero) throw Failed(ctx);
            var tensor = new Tensor(this, made);
            scope.Track(tensor);
            Leave();
            return tensor;
        }

        /// <summary>The same within a call that goes on.</summary>
        internal Tensor Track(IntPtr made)
        {
            var tensor = new Tensor(this, made);
            scope.Track(tensor);
            return tensor;
        }

        internal Tensor Made(IntPtr ctx, IntPtr made)
        {
            if (made == IntPtr.Zero) throw TakeError(ctx);
            return Track(made);
        }

        internal void Check(IntPtr ctx, int status)
        {
            if (status != 0) throw TakeError(ctx);
        }

        /// <summary>The error that sticks to the context, which is cleared.</summary>
        internal Exception TakeError(IntPtr ctx) => Translate(DlcoreException.Take(Raw.dlcore_context_take_error(ctx), "dlcore"));

        private Exception Failed(IntPtr ctx)
        {
            Exception failure = TakeError(ctx);
            Leave();
            return failure;
        }

        /// <summary>Address of an input; null stands for an optional one that is absent.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal IntPtr AddressOf(Tensor tensor)
        {
            if (tensor == null) return Absent;
            IntPtr address = tensor.Address;
            if (tensor.Context == this && address != IntPtr.Zero) return address;
            throw RefusedAndLeft(tensor);
        }

        private Exception RefusedAndLeft(Tensor tensor)
        {
            Leave();
            return Refused(tensor);
        }

        private static void NeedCount(string what, int count, int most)
        {
            if (count >= 0 && count <= most) return;
            throw new InvalidArgumentException($"op: a wrong number of {what}: there are {count}, expected 0 to {most}");
        }
    }
}
