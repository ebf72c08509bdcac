// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.CompilerServices;

namespace Dlcore
{
    /// <summary>An immutable array of one dtype, made by a context and owned by one of its scopes. Ops on it run on that
    /// context.</summary>
    public sealed unsafe partial class Tensor : IDisposable
    {
        private IntPtr handle; // zero when closed; changed only while the context is entered

        internal Tensor(Context context, IntPtr handle)
        {
            Context = context;
            this.handle = handle;
        }

        /// <summary>The context that its ops run on.</summary>
        public Context Context { get; }

        /// <summary>Whether it was given back.</summary>
        public bool IsClosed => handle == IntPtr.Zero;

        /// <summary>Type of its elements.</summary>
        public DType DType
        {
            get
            {
                Context.Enter();
                int dtype = Raw.dlcore_tensor_dtype(Context.AddressOf(this));
                Context.Leave();
                return (DType)dtype;
            }
        }

        /// <summary>How many axes it has.</summary>
        public int Rank
        {
            get
            {
                Context.Enter();
                int rank = Raw.dlcore_tensor_rank(Context.AddressOf(this));
                Context.Leave();
                return rank;
            }
        }

        /// <summary>How many elements it has; -1 while a graph is captured and the number is open.</summary>
        public long Count
        {
            get
            {
                Context.Enter();
                long count = Raw.dlcore_tensor_count(Context.AddressOf(this));
                Context.Leave();
                return count;
            }
        }

        /// <summary>Its size along each axis; -1 where a graph leaves it open.</summary>
        public long[] Shape
        {
            get
            {
                dlcore_tensor_description about = Describe();
                return Copy(about.shape, about.rank);
            }
        }

        /// <summary>Distance of neighbours along each axis, in elements.</summary>
        public long[] Strides
        {
            get
            {
                dlcore_tensor_description about = Describe();
                return Copy(about.strides, about.rank);
            }
        }

        /// <summary>Name of its device.</summary>
        public string Device
        {
            get
            {
                dlcore_tensor_description about = Describe();
                return Text.From(about.device);
            }
        }

        /// <summary>Whether its elements lie in row-major order without gaps.</summary>
        public bool IsContiguous => Describe().is_contiguous != 0;

        /// <summary>Whether gradients flow through it: it has history, or is a leaf.</summary>
        public bool RequiresGrad => Describe().requires_grad != 0;

        /// <summary>Whether it is a number that takes the dtype of what it meets.</summary>
        public bool IsWeak => Describe().is_weak != 0;

        /// <summary>Whether it is a value of a graph being captured, without elements.</summary>
        public bool IsSymbolic => Describe().is_symbolic != 0;

        internal IntPtr Address
        {
            [MethodImpl(MethodImplOptions.AggressiveInlining)]
            get => handle;
        }

        /// <summary>Size along an axis.</summary>
        /// <param name="axis">counted from the end when negative</param>
        /// <returns>the size</returns>
        public long Dim(int axis)
        {
            Context.Enter();
            long size = Raw.dlcore_tensor_dim(Context.AddressOf(this), axis);
            Context.Leave();
            if (size >= 0 || IsSymbolic) return size;
            throw new InvalidArgumentException($"dim: no such axis: axis is {axis}, expected {-Rank} to {Rank - 1}");
        }

        /// <summary>The same values for another context of the same engine.</summary>
        /// <param name="context">whose scope then owns the new tensor</param>
        /// <returns>a tensor that shares this one's storage</returns>
        public Tensor On(Context context)
        {
            if (context == null) throw new ArgumentNullException(nameof(context));
            return Dlcore.Context.Lend(this, context);
        }

        /// <summary>The same values on another device of the engine.</summary>
        /// <param name="device">name of the device</param>
        /// <returns>a tensor there</returns>
        public Tensor To(string device)
        {
            byte[] name = Text.Needed(device, nameof(device));
            return Call((ctx, x) =>
            {
                fixed (byte* text = name) return Raw.dlcore_tensor_to_device(ctx, x, text);
            });
        }

        /// <summary>Adds the gradients of this one element to those of the variables that it depends on.</summary>
        public void Backward()
        {
            Context.Use(ctx =>
            {
                Context.Check(ctx, Raw.dlcore_backward(ctx, Context.Use(this, "loss")));
                return 0;
            });
        }

        /// <summary>A leaf with the same values, with respect to which gradients can be asked for.</summary>
        /// <returns>the leaf</returns>
        public Tensor Watch() => Call((ctx, x) => Raw.dlcore_autograd_watch(ctx, x));

        /// <summary>Moves it from its scope to the enclosing one.</summary>
        /// <returns>the tensor</returns>
        public Tensor Keep() => Context.KeepInnermost(this);

        /// <summary>Gives it back before its scope does.</summary>
        public void Dispose()
        {
            if (handle != IntPtr.Zero) Context.Postpone(this);
        }

        /// <summary>Dtype, shape, device and the first elements.</summary>
        /// <returns>readable text</returns>
        public override string ToString()
        {
            if (IsClosed) return "a closed tensor";
            return Context.Use(ctx =>
            {
                IntPtr x = Context.Use(this, "tensor");
                string text = Text.Written((buffer, size) => Raw.dlcore_tensor_to_string(ctx, x, buffer, size));
                if (text == null) throw Context.TakeError(ctx);
                return text;
            });
        }

        /// <summary>Its handle, which is the caller's from now on; zero when it is closed. The context is entered.</summary>
        internal IntPtr Detach()
        {
            IntPtr detached = handle;
            handle = IntPtr.Zero;
            return detached;
        }

        internal dlcore_tensor_description Describe() => Context.Use(ctx =>
        {
            var about = new dlcore_tensor_description { struct_size = (uint)sizeof(dlcore_tensor_description) };
            Context.Check(ctx, Raw.dlcore_tensor_describe(ctx, Context.Use(this, "tensor"), &about));
            return about;
        });

        internal Tensor Call(Func<IntPtr, IntPtr, IntPtr> call) =>
            Context.Use(ctx => Context.Made(ctx, call(ctx, Context.Use(this, "tensor"))));

        private static long[] Copy(long* from, int count)
        {
            var values = new long[count];
            for (int i = 0; i < count; ++i) values[i] = from[i];
            return values;
        }
    }
}
