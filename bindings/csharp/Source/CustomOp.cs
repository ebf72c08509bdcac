// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>What a custom op or a custom module sees while it runs.</summary>
    public sealed unsafe class OpCall
    {
        private readonly IntPtr call;

        internal OpCall(Context context, IntPtr call)
        {
            Context = context;
            this.call = call;
        }

        /// <summary>The context for its own calls; it ends with the call.</summary>
        public Context Context { get; }

        /// <summary>How many inputs there are.</summary>
        public int InputCount => Raw.dlcore_op_call_input_count(call);

        /// <summary>An input; while types are inferred it has no elements.</summary>
        /// <param name="index">counted from 0</param>
        /// <returns>the tensor, for the length of the call</returns>
        public Tensor Input(int index) => Needed("input", index, Context.Borrow(Raw.dlcore_op_call_input(call, index)));

        /// <summary>A result of the forward computation.</summary>
        /// <param name="index">counted from 0</param>
        /// <returns>the tensor, for the length of the call</returns>
        public Tensor Output(int index) => Needed("output", index, Context.Borrow(Raw.dlcore_op_call_output(call, index)));

        /// <summary>The gradient that came to a result; null when none did.</summary>
        /// <param name="index">counted from 0</param>
        /// <returns>the tensor, for the length of the call</returns>
        public Tensor Gradient(int index) => Context.Borrow(Raw.dlcore_op_call_gradient(call, index));

        /// <summary>Whether the gradient of an input is asked for.</summary>
        /// <param name="index">counted from 0</param>
        /// <returns>whether it is</returns>
        public bool NeedsGradient(int index) => Raw.dlcore_op_call_needs_gradient(call, index) == 1;

        /// <summary>An attribute.</summary>
        /// <param name="index">counted from 0</param>
        /// <returns>its word</returns>
        public long Attribute(int index) => Raw.dlcore_op_call_attr(call, index);

        /// <summary>While types are inferred: dtype and shape of a result.</summary>
        /// <param name="index">counted from 0</param>
        /// <param name="dtype">type of its elements</param>
        /// <param name="shape">its size along each axis</param>
        public void SetOutputType(int index, DType dtype, params long[] shape)
        {
            if (shape == null) throw new ArgumentNullException(nameof(shape));
            fixed (long* sizes = shape)
            {
                Check("output_type", index, Raw.dlcore_op_call_set_output_type(call, index, (int)dtype, sizes, shape.Length));
            }
        }

        /// <summary>While types are inferred: a result has the dtype and shape of another tensor.</summary>
        /// <param name="index">counted from 0</param>
        /// <param name="like">the other tensor</param>
        public void SetOutputLike(int index, Tensor like) =>
            Give("output_like", index, like, address => Raw.dlcore_op_call_set_output_like(call, index, address));

        /// <summary>A result.</summary>
        /// <param name="index">counted from 0</param>
        /// <param name="value">of the dtype and shape that were inferred</param>
        public void SetOutput(int index, Tensor value) =>
            Give("output", index, value, address => Raw.dlcore_op_call_set_output(call, index, address));

        /// <summary>The gradient of an input.</summary>
        /// <param name="index">counted from 0</param>
        /// <param name="value">of the dtype and shape of the input</param>
        public void SetInputGradient(int index, Tensor value) =>
            Give("input_gradient", index, value, address => Raw.dlcore_op_call_set_input_gradient(call, index, address));

        private void Give(string what, int index, Tensor tensor, Func<IntPtr, int> give) => Context.Use(ctx =>
        {
            int status = give(Context.Use(tensor, "value"));
            if (status != 0 && Raw.dlcore_context_status(ctx) != 0) throw Context.TakeError(ctx);
            Check(what, index, status);
            return 0;
        });

        private static void Check(string what, int index, int status)
        {
            if (status == 0) return;
            throw new InvalidArgumentException($"op_call_set_{what}: refused: index is {index}, the code {(StatusCode)status}");
        }

        private static Tensor Needed(string what, int index, Tensor tensor)
        {
            if (tensor != null) return tensor;
            throw new OutOfRangeException($"op_call_{what}: no such {what}: index is {index}");
        }
    }

    /// <summary>An op of the program's own.</summary>
    public sealed class CustomOp
    {
        /// <summary>Sets dtype and shape of each result; must not look at elements.</summary>
        public Action<OpCall> Infer { get; set; }

        /// <summary>Computes the results.</summary>
        public Action<OpCall> Forward { get; set; }

        /// <summary>Computes the gradients of the inputs; null when it has no derivative. Written in ops it has
        /// derivatives itself.</summary>
        public Action<OpCall> Backward { get; set; }

        /// <summary>How many tensors it takes.</summary>
        public int Inputs { get; set; } = 1;

        /// <summary>How many it makes.</summary>
        public int Outputs { get; set; } = 1;

        /// <summary>How many integers it takes as attributes.</summary>
        public int Attributes { get; set; }
    }

    public sealed unsafe partial class Context
    {
        private static readonly dlcore_op_callback InferFunction = (user, child, call) => OnOp(user, child, call, op => op.Infer);
        private static readonly dlcore_op_callback ForwardFunction = (user, child, call) => OnOp(user, child, call, op => op.Forward);
        private static readonly dlcore_op_callback BackwardFunction = (user, child, call) => OnOp(user, child, call, op => op.Backward);
        private static readonly IntPtr InferAddress = Callbacks.Address(InferFunction);
        private static readonly IntPtr ForwardAddress = Callbacks.Address(ForwardFunction);
        private static readonly IntPtr BackwardAddress = Callbacks.Address(BackwardFunction);

        /// <summary>Registers an op of this engine. It can be called from every language of the process by its name, until
        /// the engine ends.</summary>
        /// <param name="name">which no op has yet</param>
        /// <param name="op">what it does</param>
        /// <returns>its number, for Invoke</returns>
        public int RegisterOp(string name, CustomOp op)
        {
            byte[] bytes = Text.Needed(name, nameof(name));
            if (op == null) throw new ArgumentNullException(nameof(op));
            if (op.Infer == null || op.Forward == null)
            {
                throw new InvalidArgumentException($"op_register: {name} lacks a function: Infer and Forward are needed");
            }
            return Use(ctx =>
            {
                int number;
                IntPtr id = Callbacks.Keep(new Registered { Engine = Engine, Op = op }); // until the library destroys it
                fixed (byte* text = bytes)
                {
                    Check(ctx, Raw.dlcore_op_register(
                        ctx, text, op.Inputs, op.Outputs, op.Attributes, InferAddress, ForwardAddress,
                        op.Backward == null ? IntPtr.Zero : BackwardAddress, (void*)id, Callbacks.DestroyAddress, &number));
                }
                return number;
            });
        }

        /// <summary>Name of an op, also of a custom one; null for a number that is none.</summary>
        /// <param name="op">its number</param>
        /// <returns>the name</returns>
        public string OpName(int op) => Use(ctx =>
        {
            byte* name = Raw.dlcore_op_name(ctx, op);
            return name == null ? null : Text.From(name);
        });

        /// <summary>Whether the device runs an op by a kernel of its own for a dtype.</summary>
        /// <param name="op">its number</param>
        /// <param name="dtype">of its operands</param>
        /// <returns>whether it does</returns>
        public bool HasKernel(int op, DType dtype) => Use(ctx => Raw.dlcore_op_has_kernel(ctx, op, (int)dtype) == 1);

        private static int OnOp(void* user, IntPtr child, IntPtr call, Func<CustomOp, Action<OpCall>> phase) =>
            RunChild<Registered>(user, child, registered => registered.Engine,
                                 (registered, context) => phase(registered.Op)(new OpCall(context, call)));

        private sealed class Registered
        {
            internal Engine Engine;
            internal CustomOp Op;
        }
    }
}
