// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Dlcore
{
    /// <summary>The execution state of one thread of work: device, random generator, modes, scopes. It may move between
    /// threads but serves one call at a time; give each worker its own. What it makes belongs to its innermost scope
    /// (tensors) or to itself (all else), and ends with it at the latest.</summary>
    public sealed unsafe partial class Context : IDisposable
    {
        private static readonly IntPtr Absent = Raw.dlcore_tensor_none();
        private static readonly Action<IntPtr> CloseNative = Raw.dlcore_context_close;
        private readonly NativeHandle native; // null for a child context, which the library lends to a callback
        private readonly bool ownsEngine;
        private readonly List<object> postponed = new List<object>(); // what other threads closed during a call
        private readonly List<Resource> inUse = new List<Resource>(); // by the call that runs
        private readonly List<WeakReference<Resource>> owned = new List<WeakReference<Resource>>();
        private IntPtr handle; // zero when closed
        private const int Briefly = 2;
        private int busy; // 1 while a call runs, Briefly while something is closed
        private volatile bool attention; // something is to be done when the call that runs is over
        private bool closing;
        private Scope scope;
        private int ownedLimit = 64;

        internal Context(Engine engine, string device, ulong seed, bool inference, bool ownsEngine)
        {
            byte[] name = Text.Needed(device, nameof(device));
            ulong flags = (ulong)(Raw.DLCORE_CONTEXT_MANUAL | (inference ? Raw.DLCORE_CONTEXT_INFERENCE : 0));
            handle = engine.Use(owner =>
            {
                fixed (byte* text = name)
                {
                    IntPtr error = IntPtr.Zero, opened = Raw.dlcore_context_open(owner, text, seed, flags, &error);
                    if (opened == IntPtr.Zero) throw DlcoreException.Take(error, "context_open");
                    return opened;
                }
            });
            native = new NativeHandle(handle, CloseNative);
            Engine = engine;
            Seed = seed;
            this.ownsEngine = ownsEngine;
            scope = new Scope(this, null);
        }

        /// <summary>The child of a context, for the time of a callback.</summary>
        internal Context(Engine engine, IntPtr borrowed)
        {
            handle = borrowed;
            Engine = engine;
            scope = new Scope(this, null);
        }

        /// <summary>Gives back what was made, when nobody disposed of the context.</summary>
        ~Context()
        {
            if (native == null || handle == IntPtr.Zero) return;
            for (Scope each = scope; each != null; each = each.Parent) each.ReleaseAll();
        }

        /// <summary>The engine it runs on.</summary>
        public Engine Engine { get; }

        /// <summary>The seed it was opened with.</summary>
        public ulong Seed { get; }

        /// <summary>Name of its device.</summary>
        public string Device => Use(ctx => Text.From(Raw.dlcore_context_device(ctx)));

        /// <summary>Whether it is closed.</summary>
        public bool IsClosed => handle == IntPtr.Zero;

        /// <summary>Opens an engine of its own and a context on it, which closes the engine when it is disposed of.</summary>
        /// <param name="device">its device</param>
        /// <param name="seed">decides every random number and initial parameter</param>
        /// <returns>the context, to be disposed of</returns>
        public static Context Open(string device = "cpu", ulong seed = 0)
        {
            Engine engine = Engine.Open();
            try
            {
                return new Context(engine, device, seed, inference: false, ownsEngine: true);
            }
            catch
            {
                engine.Dispose();
                throw;
            }
        }

        /// <summary>Opens a scope, which is the innermost one until it is disposed of.</summary>
        /// <returns>the scope</returns>
        public Scope Scope()
        {
            Enter();
            scope = new Scope(this, scope);
            Scope opened = scope;
            Leave();
            return opened;
        }

        /// <summary>Gives back all that it made, and closes it; during a call on another thread, when that is over.</summary>
        public void Dispose()
        {
            Postpone(null);
            GC.SuppressFinalize(this);
        }

        // ---- One call at a time

        /// <summary>Takes the context for a call, which ends with Leave.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal IntPtr Enter()
        {
            if (Interlocked.CompareExchange(ref busy, 1, 0) != 0) EnterAfterBrief();
            IntPtr entered = handle;
            if (entered == IntPtr.Zero) throw Closed();
            return entered;
        }

        /// <summary>Waits for a thread that only closes something.</summary>
        private void EnterAfterBrief()
        {
            var spin = new SpinWait();
            for (int seen; (seen = Interlocked.CompareExchange(ref busy, 1, 0)) != 0; spin.SpinOnce())
            {
                if (seen != Briefly) throw Busy();
            }
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal void Leave()
        {
            if (attention) Settle();
            Volatile.Write(ref busy, 0);
        }

        /// <summary>Runs a call that has no inputs but the context.</summary>
        internal T Use<T>(Func<IntPtr, T> call)
        {
            IntPtr ctx = Enter();
            try
            {
                return call(ctx);
            }
            finally
            {
                Leave();
            }
        }

        /// <summary>Address of an object until the call that runs is over.</summary>
        internal IntPtr Use(Resource resource, string what)
        {
            if (resource == null) throw new ArgumentNullException(what);
            IntPtr address = resource.Acquire();
            inUse.Add(resource);
            attention = true;
            return address;
        }

        /// <summary>Address of one of its tensors.</summary>
        internal IntPtr Use(Tensor tensor, string what)
        {
            if (tensor == null) throw new ArgumentNullException(what);
            IntPtr address = tensor.Address;
            if (tensor.Context == this && address != IntPtr.Zero) return address;
            throw Refused(tensor);
        }

        /// <summary>Closes a tensor or a scope (or, for null, the context) now, or when the call that runs is over.</summary>
        internal void Postpone(object closed)
        {
            if (Interlocked.CompareExchange(ref busy, Briefly, 0) != 0)
            {
                lock (postponed)
                {
                    if (closed == null) closing = true;
                    else postponed.Add(closed);
                }
                attention = true;
                // The owner may have looked at `attention` just before and be leaving.
                Thread.Yield();
                if (Interlocked.CompareExchange(ref busy, Briefly, 0) == 0) Leave();
                return;
            }
            if (closed == null) closing = true;
            else Close(closed);
            if (closing) attention = true;
            Leave();
        }

        private void Close(object closed)
        {
            if (closed is Tensor tensor)
            {
                IntPtr address = tensor.Detach();
                if (address != IntPtr.Zero) Raw.dlcore_tensor_release(address);
            }
            else
            {
                CloseScope((Scope)closed, close: true);
            }
        }

        /// <summary>At the end of a call: what was put off until then.</summary>
        private void Settle()
        {
            attention = false;
            foreach (Resource resource in inUse) resource.Release();
            inUse.Clear();
            lock (postponed)
            {
                foreach (object closed in postponed) Close(closed);
                postponed.Clear();
                if (!closing || handle == IntPtr.Zero) return;
            }
            for (Scope each = scope; each != null; each = each.Parent)
            {
                each.ReleaseAll();
                each.Close();
            }
            handle = IntPtr.Zero;
            lock (owned)
            {
                foreach (WeakReference<Resource> reference in owned)
                {
                    if (reference.TryGetTarget(out Resource resource)) resource.Dispose();
                }
                owned.Clear();
            }
            native?.Dispose();
            if (ownsEngine) Engine.Dispose();
        }

        private Exception Busy() => new FailedPreconditionException(
            "context: another call runs on it: it is busy, expected one call at a time (give each thread a context of its own)");

        private Exception Closed()
        {
            Leave();
            return new ObjectDisposedException(nameof(Context), "context: it is closed");
        }

        /// <summary>Why a tensor cannot be used here.</summary>
        private Exception Refused(Tensor tensor)
        {
            if (tensor.IsClosed) return new ObjectDisposedException(nameof(Tensor), "tensor: it is closed, or its scope is");
            return new FailedPreconditionException(
                "tensor: it belongs to another context, expected one of the context of the call (On gives it another)");
        }

        // ---- Ownership

        internal void Own(Resource resource)
        {
            lock (owned)
            {
                if (owned.Count >= ownedLimit)
                {
                    owned.RemoveAll(reference => !reference.TryGetTarget(out Resource kept) || kept.IsClosed);
                    ownedLimit = Math.Max(64, 2 * owned.Count);
                }
                owned.Add(new WeakReference<Resource>(resource));
            }
        }

        internal Tensor Keep(Scope from, Tensor tensor)
        {
            Enter();
            try
            {
                Use(tensor, nameof(tensor));
                if (from.IsClosed) throw new FailedPreconditionException("scope_keep: the scope is closed");
                for (Scope each = scope; from.Parent != null && each != from.Parent; each = each.Parent)
                {
                    if (each.Forget(tensor)) from.Parent.Track(tensor);
                }
                return tensor;
            }
            finally
            {
                Leave();
            }
        }

        internal void Reset(Scope closed, bool close)
        {
            if (close)
            {
                Postpone(closed);
                return;
            }
            Enter();
            CloseScope(closed, close: false);
            Leave();
        }

        private void CloseScope(Scope closed, bool close)
        {
            if (closed.IsClosed || (close && closed.Parent == null)) return;
            while (scope != closed)
            {
                scope.ReleaseAll();
                scope.Close();
                scope = scope.Parent;
            }
            closed.ReleaseAll();
            if (!close) return;
            closed.Close();
            scope = closed.Parent;
        }
    }
}
