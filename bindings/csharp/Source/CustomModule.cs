// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dlcore.Nn
{
    /// <summary>A module of the program's own: children, variables, and a forward written with them. It is listed, saved,
    /// put inside others and frozen like any other. It lives until it is disposed of or its context is.</summary>
    public abstract unsafe class CustomModule : Module
    {
        private static readonly dlcore_module_callback ForwardFunction = OnForward;
        private static readonly IntPtr ForwardAddress = Callbacks.Address(ForwardFunction);

        /// <summary>Of the calls that run on this thread, the innermost first.</summary>
        [ThreadStatic]
        private static Frozen frozen;

        private readonly Module[] children;
        private readonly Variable[] variables;

        /// <summary>Makes one.</summary>
        /// <param name="context">where it is made</param>
        /// <param name="children">the modules that Forward uses, by the names they have in paths; null for none</param>
        /// <param name="variables">variables of its own; the last part of their path is their name; null for none</param>
        protected CustomModule(Context context, IReadOnlyDictionary<string, Module> children = null, params Variable[] variables)
            : this(context, children?.Values.ToArray() ?? new Module[0], children?.Keys.ToArray(), variables ?? new Variable[0], new Slot())
        {
        }

        /// <summary>Makes one.</summary>
        /// <param name="context">where it is made</param>
        /// <param name="children">the modules that Forward uses; their numbers are their names in paths</param>
        protected CustomModule(Context context, params Module[] children)
            : this(context, children ?? new Module[0], null, new Variable[0], new Slot())
        {
        }

        private CustomModule(Context context, Module[] children, string[] names, Variable[] variables, Slot slot)
            : base(context, self => slot.Define(context, self.GetType().Name, children, names, variables))
        {
            this.children = children;
            this.variables = variables;
            slot.Module = this;
        }

        /// <summary>Answers an input, on its context. It may run on several threads at once.</summary>
        /// <param name="x">the input; it ends with the call, like all that is made from it</param>
        /// <returns>the answer</returns>
        protected abstract Tensor Forward(Tensor x);

        /// <summary>What stands for a child while a snapshot answers.</summary>
        internal static Module Substitute(Module child)
        {
            for (Frozen each = frozen; each != null; each = each.Outer)
            {
                int at = Array.IndexOf(each.Of.children, child);
                if (at >= 0) return each.Children[at];
            }
            return child;
        }

        /// <summary>The same for a variable.</summary>
        internal static Variable Substitute(Variable variable)
        {
            for (Frozen each = frozen; each != null; each = each.Outer)
            {
                int at = Array.IndexOf(each.Of.variables, variable);
                if (at >= 0) return each.Variables[at];
            }
            return variable;
        }

        private static int OnForward(void* user, IntPtr child, IntPtr module, IntPtr call)
        {
            return Context.RunChild<Slot>(user, child, slot => slot.Module.Context.Engine, (slot, context) =>
            {
                Frozen outer = frozen;
                try
                {
                    if (slot.Own != module) frozen = new Frozen(slot.Module, context, child, module, outer);
                    var opCall = new OpCall(context, call);
                    opCall.SetOutput(0, slot.Module.Forward(opCall.Input(0)));
                }
                finally
                {
                    frozen = outer;
                }
            });
        }

        /// <summary>The children and variables of a snapshot, in place of those of the module.</summary>
        private sealed class Frozen
        {
            internal readonly CustomModule Of;
            internal readonly Frozen Outer;
            internal readonly Module[] Children;
            internal readonly Variable[] Variables;

            internal Frozen(CustomModule of, Context context, IntPtr ctx, IntPtr module, Frozen outer)
            {
                Of = of;
                Outer = outer;
                Children = of.children.Select((_, i) => Borrowed(context, Raw.dlcore_module_child(module, i))).ToArray();
                Variables = Array.ConvertAll(of.variables, variable =>
                {
                    fixed (byte* name = Text.Needed(variable.Name, "name"))
                    {
                        return Variable.Borrowed(context, Raw.dlcore_module_find(ctx, module, name));
                    }
                });
            }
        }

        /// <summary>What the callback finds the module by. It keeps it alive, since a parent may need it.</summary>
        private sealed class Slot
        {
            internal CustomModule Module;
            internal IntPtr Own; // not a snapshot's

            internal NativeHandle Define(Context context, string kind, Module[] children, string[] names, Variable[] variables)
            {
                if (context == null) throw new ArgumentNullException(nameof(context));
                byte[] joined = names == null ? null : Text.Bytes(string.Join(",", names), "names");
                return context.Use(ctx =>
                {
                    Raw.dlcore_engine_collect(Raw.dlcore_context_engine(ctx));
                    IntPtr[] inside = Array.ConvertAll(children, child => context.Use(child, nameof(children)));
                    IntPtr[] own = Array.ConvertAll(variables, variable => context.Use(variable, nameof(variables)));
                    IntPtr id = Callbacks.Keep(this); // until the library destroys it
                    fixed (byte* type = Text.Needed(kind, nameof(kind)), called = joined)
                    fixed (IntPtr* modules = inside, cells = own)
                    {
                        Own = Raw.dlcore_module_define(ctx, type, modules, inside.Length, inside.Length == 0 ? null : called,
                            cells, own.Length, ForwardAddress, (void*)id, Callbacks.DestroyAddress);
                        if (Own == IntPtr.Zero) throw context.TakeError(ctx);
                        return Owned(Own);
                    }
                });
            }
        }
    }
}
