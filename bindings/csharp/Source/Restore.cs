// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Dlcore
{
    /// <summary>Runs an action once, when it is disposed of.</summary>
    internal sealed class Restore : IDisposable
    {
        private Action action;

        internal Restore(Action action)
        {
            this.action = action;
        }

        /// <inheritdoc/>
        public void Dispose() => Interlocked.Exchange(ref action, null)?.Invoke();
    }
}
