// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Dlcore
{
    /// <summary>How gradients are taken.</summary>
    public sealed class GradOptions
    {
        /// <summary>the gradients have history of their own</summary>
        public bool CreateGraph { get; set; }

        /// <summary>the history may be used again; implied by CreateGraph</summary>
        public bool RetainGraph { get; set; }

        /// <summary>a tensor without influence gets null instead of being an error</summary>
        public bool AllowUnused { get; set; }
    }

    // Derivatives of functions: reverse mode, forward mode, vectorisation. They nest in any order.
    public sealed unsafe partial class Context
    {
        /// <summary>Gradients of the sum of outputs times seeds with respect to tensors: leaves made by Watch or by
        /// reading a variable, or tensors on the way.</summary>
        /// <param name="outputs">what is differentiated</param>
        /// <param name="wrt">with respect to what</param>
        /// <param name="seeds">null, or holding nulls, for outputs of one element</param>
        /// <param name="options">null for the defaults</param>
        /// <returns>a gradient for each, of its shape</returns>
        public Tensor[] Grad(Tensor[] outputs, Tensor[] wrt, Tensor[] seeds = null, GradOptions options = null)
        {
            if (outputs == null) throw new ArgumentNullException(nameof(outputs));
            if (wrt == null) throw new ArgumentNullException(nameof(wrt));
            if (seeds != null && seeds.Length != outputs.Length)
            {
                throw new InvalidArgumentException($"grad: a wrong number of seeds: there are {seeds.Length}, expected {outputs.Length}");
            }
            return Use(ctx =>
            {
                dlcore_grad_options raw;
                Raw.dlcore_grad_options_init(&raw, (ulong)sizeof(dlcore_grad_options));
                raw.create_graph = Flag(options?.CreateGraph);
                raw.retain_graph = Flag(options?.RetainGraph);
                raw.allow_unused = Flag(options?.AllowUnused);
                var gradients = new IntPtr[wrt.Length];
                fixed (IntPtr* made = gradients, given = Addresses(outputs), leaves = Addresses(wrt),
                               weights = seeds == null ? null : Addresses(seeds, orNull: true))
                {
                    Check(ctx, Raw.dlcore_autograd_grad(ctx, given, outputs.Length, leaves, wrt.Length, weights, &raw, made));
                }
                return Array.ConvertAll(gradients, made => made == IntPtr.Zero ? null : Track(made));
            });
        }

        /// <summary>The value of a function of one element, and its gradient.</summary>
        /// <param name="function">what is differentiated</param>
        /// <param name="x">where</param>
        /// <returns>both; they have history themselves while the context records</returns>
        public (Tensor value, Tensor gradient) ValueAndGrad(Func<Tensor, Tensor> function, Tensor x)
        {
            Tensor leaf = Leaf(x);
            Tensor value = function(leaf);
            return (value, Grad(new[] { value }, new[] { leaf }, null, new GradOptions { CreateGraph = true })[0]);
        }

        /// <summary>The gradient of a function of one element.</summary>
        /// <param name="function">what is differentiated</param>
        /// <param name="x">where</param>
        /// <returns>of the shape of x; differentiable itself</returns>
        public Tensor Grad(Func<Tensor, Tensor> function, Tensor x) => ValueAndGrad(function, x).gradient;

        /// <summary>The gradients of a function of several tensors.</summary>
        /// <param name="function">what is differentiated; its result has one element</param>
        /// <param name="xs">where</param>
        /// <returns>a gradient for each; differentiable themselves</returns>
        public Tensor[] Grad(Func<Tensor[], Tensor> function, params Tensor[] xs)
        {
            Tensor[] leaves = Array.ConvertAll(xs, x => Leaf(x));
            return Grad(new[] { function(leaves) }, leaves, null, new GradOptions { CreateGraph = true });
        }

        /// <summary>The value of a function and its derivative in a direction, in one pass.</summary>
        /// <param name="function">what is differentiated</param>
        /// <param name="x">where</param>
        /// <param name="direction">of the shape of x</param>
        /// <returns>both, of the shape of the result</returns>
        public (Tensor value, Tensor tangent) Jvp(Func<Tensor, Tensor> function, Tensor x, Tensor direction) =>
            Jvp(xs => function(xs[0]), new[] { x }, new[] { direction });

        /// <summary>The value of a function of several tensors and its derivative in a direction.</summary>
        /// <param name="function">what is differentiated</param>
        /// <param name="xs">where</param>
        /// <param name="directions">one for each of them; null for none</param>
        /// <returns>both, of the shape of the result</returns>
        public (Tensor value, Tensor tangent) Jvp(Func<Tensor[], Tensor> function, Tensor[] xs, Tensor[] directions)
        {
            using (var level = new Level(this, Use(ctx => Opened(ctx, Raw.dlcore_jvp_open(ctx)))))
            {
                var lifted = new Tensor[xs.Length];
                for (int i = 0; i < xs.Length; ++i)
                {
                    Tensor x = NeedTensor(xs[i]), direction = directions[i];
                    lifted[i] = direction == null ? x
                        : Use(ctx => Made(ctx, Raw.dlcore_jvp_lift(ctx, level.Handle, Use(x, "x"), Use(direction, "direction"))));
                }
                Tensor result = function(lifted);
                return (Use(ctx => Made(ctx, Raw.dlcore_jvp_primal(ctx, level.Handle, Use(result, "result")))),
                        Use(ctx => Made(ctx, Raw.dlcore_jvp_tangent(ctx, level.Handle, Use(result, "result")))));
            }
        }

        /// <summary>The value of a function, and what takes a gradient of the result back to one of x.</summary>
        /// <param name="function">what is differentiated</param>
        /// <param name="x">where</param>
        /// <returns>both; the second may be called again</returns>
        public (Tensor value, Func<Tensor, Tensor> pullback) Vjp(Func<Tensor, Tensor> function, Tensor x)
        {
            Tensor leaf = Leaf(x);
            Tensor value = function(leaf);
            return (value, seed => Grad(new[] { value }, new[] { leaf }, new[] { seed }, new GradOptions { RetainGraph = true })[0]);
        }

        /// <summary>The second derivatives of a function of one element.</summary>
        /// <param name="function">what is differentiated twice</param>
        /// <param name="x">where</param>
        /// <returns>of the shape of x twice</returns>
        public Tensor Hessian(Func<Tensor, Tensor> function, Tensor x)
        {
            long[] shape = NeedTensor(x).Shape;
            long count = x.Count;
            Tensor directions = Eye(count, new EyeOptions { Dtype = x.DType }).Reshape(new[] { count }.Concat(shape).ToArray());
            Tensor rows = Vmap(direction => Jvp(point => Grad(function, point), x, direction).tangent, directions);
            return rows.Reshape(shape.Concat(shape).ToArray());
        }

        /// <summary>Applies a function to each example along an axis, as one computation.</summary>
        /// <param name="function">of one example</param>
        /// <param name="x">the examples</param>
        /// <param name="axis">of the examples in x</param>
        /// <param name="outAxis">of the examples in the result</param>
        /// <returns>the results of all examples</returns>
        public Tensor Vmap(Func<Tensor, Tensor> function, Tensor x, int axis = 0, int outAxis = 0) =>
            Vmap(xs => function(xs[0]), new[] { x }, new int?[] { axis }, outAxis);

        /// <summary>Applies a function of several tensors to each example, as one computation.</summary>
        /// <param name="function">of one example</param>
        /// <param name="xs">the operands</param>
        /// <param name="axes">of the examples in each; null for an operand that all examples share</param>
        /// <param name="outAxis">of the examples in the result</param>
        /// <returns>the results of all examples</returns>
        public Tensor Vmap(Func<Tensor[], Tensor> function, Tensor[] xs, int?[] axes, int outAxis = 0)
        {
            int first = Array.FindIndex(axes, axis => axis.HasValue);
            if (first < 0) throw new InvalidArgumentException("vmap: no examples: all axes are null, expected at least one axis");
            long size = NeedTensor(xs[first]).Dim(axes[first].Value);
            using (var level = new Level(this, Use(ctx => Opened(ctx, Raw.dlcore_vmap_open(ctx, size)))))
            {
                var lifted = new Tensor[xs.Length];
                for (int i = 0; i < xs.Length; ++i)
                {
                    Tensor x = NeedTensor(xs[i]);
                    int? axis = axes[i];
                    lifted[i] = axis == null ? x
                        : Use(ctx => Made(ctx, Raw.dlcore_vmap_lift(ctx, level.Handle, Use(x, "x"), axis.Value)));
                }
                Tensor result = function(lifted);
                return Use(ctx => Made(ctx, Raw.dlcore_vmap_lower(ctx, level.Handle, Use(result, "result"), outAxis)));
            }
        }

        private IntPtr Opened(IntPtr ctx, IntPtr level)
        {
            if (level == IntPtr.Zero) throw TakeError(ctx);
            return level;
        }

        /// <summary>The addresses of tensors, for the call that runs.</summary>
        internal IntPtr[] Addresses(Tensor[] tensors, bool orNull = false) =>
            Array.ConvertAll(tensors, tensor => orNull && tensor == null ? IntPtr.Zero : Use(tensor, "tensor"));

        private Tensor NeedTensor(Tensor tensor)
        {
            if (tensor == null) throw new ArgumentNullException(nameof(tensor));
            return tensor;
        }

        /// <summary>What gradients are asked for with respect to: within another derivative, the tensor itself.</summary>
        private Tensor Leaf(Tensor x) => NeedTensor(x).RequiresGrad ? x : x.Watch();

        private static byte Flag(bool? on) => (byte)(on == true ? 1 : 0);

        /// <summary>A level of a transform, ended when it is disposed of.</summary>
        private sealed class Level : IDisposable
        {
            private readonly Context context;

            internal Level(Context context, IntPtr handle)
            {
                this.context = context;
                Handle = handle;
            }

            internal IntPtr Handle { get; }

            /// <inheritdoc/>
            public void Dispose()
            {
                if (!context.IsClosed) context.Use(ctx => Raw.dlcore_transform_close(ctx, Handle));
            }
        }
    }
}
