// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    public sealed unsafe partial class Context
    {
        private static readonly dlcore_gradcheck_function GradCheckFunction = OnGradCheck;
        private static readonly IntPtr GradCheckAddress = Callbacks.Address(GradCheckFunction);

        /// <summary>Compares the derivatives of a function with central differences;
        /// <see cref="FailedPreconditionException"/> when they differ.</summary>
        /// <param name="function">makes its result by calls on the context that it is given</param>
        /// <param name="inputs">of dtype f64</param>
        /// <param name="order">1, or 2 for second derivatives too</param>
        /// <param name="tolerance">of |analytic - numeric| / max(1, |numeric|); 0 for the default</param>
        public void GradCheck(Func<Context, Tensor[], Tensor> function, Tensor[] inputs, int order = 1, double tolerance = 0)
        {
            if (function == null) throw new ArgumentNullException(nameof(function));
            if (inputs == null) throw new ArgumentNullException(nameof(inputs));
            IntPtr id = Callbacks.Keep(new GradCheckCall { Engine = Engine, Function = function });
            try
            {
                Use(ctx =>
                {
                    fixed (IntPtr* given = Addresses(inputs))
                    {
                        Check(ctx, Raw.dlcore_gradcheck(ctx, GradCheckAddress, (void*)id, given, inputs.Length, order, tolerance));
                    }
                    return 0;
                });
            }
            finally
            {
                Callbacks.Forget(id);
            }
        }

        private static int OnGradCheck(void* user, IntPtr ctx, IntPtr* inputs, long count, IntPtr* output)
        {
            // A lambda cannot hold pointers.
            IntPtr given = new IntPtr(inputs), made = new IntPtr(output);
            return RunChild<GradCheckCall>(user, ctx, call => call.Engine, (call, child) =>
            {
                var lent = new Tensor[count];
                for (int i = 0; i < lent.Length; ++i) lent[i] = child.Borrow(((IntPtr*)given)[i]);
                *(IntPtr*)made = child.GiveAway(call.Function(child, lent));
            });
        }

        private sealed class GradCheckCall
        {
            internal Engine Engine;
            internal Func<Context, Tensor[], Tensor> Function;
        }
    }
}
