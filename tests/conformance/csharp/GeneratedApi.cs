// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Runtime.ExceptionServices;
using System.Text;

namespace Dlcore.Conformance
{
    /// <summary>Calls ops by name: through the typed method of Context where it can say what a case says, or by number
    /// with packed attributes where it cannot (malformed words, hidden ops and outputs).</summary>
    internal sealed class GeneratedApi
    {
        private readonly Dictionary<string, Dictionary<string, object>> schemas;
        private readonly ILookup<string, MethodInfo> methods;

        internal GeneratedApi()
        {
            var catalogue = (Dictionary<string, object>)Json.Parse(Engine.Catalogue);
            schemas = ((List<object>)catalogue["ops"]).Cast<Dictionary<string, object>>().ToDictionary(op => (string)op["name"]);
            methods = typeof(Context).GetMethods().ToLookup(method => method.Name);
        }

        /// <summary>Calls that no typed method could make.</summary>
        internal int RawCalls { get; private set; }

        internal IEnumerable<string> Ops => schemas.Keys;

        internal bool IsHidden(string op) => (bool)schemas[op]["hidden"];

        /// <summary>The visible results by the typed method; others need InvokeRaw.</summary>
        internal Tensor Call(Context dl, string op, Tensor[] inputs, Dictionary<string, object> attrs)
        {
            MethodInfo method = Choose(op, inputs, attrs);
            object[] arguments = method == null ? null : Arguments(dl, method, inputs, attrs);
            if (arguments == null) return InvokeRaw(dl, op, inputs, Pack(op, attrs), 1)[0];
            try
            {
                return (Tensor)method.Invoke(dl, arguments);
            }
            catch (TargetInvocationException exception)
            {
                ExceptionDispatchInfo.Capture(exception.InnerException).Throw();
                throw;
            }
        }

        internal Tensor[] InvokeRaw(Context dl, string op, Tensor[] inputs, long[] words, int outputs)
        {
            ++RawCalls;
            return dl.Invoke(dl.FindOp(op), inputs, words, outputs);
        }

        internal int VisibleOutputs(string op) =>
            ((List<object>)schemas[op]["outputs"]).Count(output => !(bool)Case.Member(output, "hidden"));

        internal long[] Pack(string op, Dictionary<string, object> attrs)
        {
            var known = (List<object>)schemas[op]["attrs"];
            int used = 1 + known.FindLastIndex(attr => attrs.ContainsKey((string)Case.Member(attr, "name")));
            var words = new List<long>();
            foreach (object attr in known.Take(used))
            {
                bool given = attrs.TryGetValue((string)Case.Member(attr, "name"), out object value);
                string type = (string)Case.Member(attr, "type");
                if (!given) value = Case.Member(attr, "default");
                if (type.EndsWith("?"))
                {
                    words.Add(value == null ? 0 : 1);
                    if (value == null) continue;
                }
                Append(type.TrimEnd('?'), value, words);
            }
            return words.ToArray();
        }

        private static void Append(string type, object value, List<long> words)
        {
            switch (type)
            {
                case "float":
                    words.Add(BitConverter.DoubleToInt64Bits(Real(value)));
                    break;
                case "dtype":
                    words.Add(value is string name ? (long)Case.DTypeOf(name) : (long)value);
                    break;
                case "string":
                    byte[] bytes = Encoding.UTF8.GetBytes((string)value);
                    words.Add(bytes.Length);
                    Array.Resize(ref bytes, (bytes.Length + 7) / 8 * 8);
                    for (int at = 0; at < bytes.Length; at += 8) words.Add(BitConverter.ToInt64(bytes, at));
                    break;
                case "ints":
                case "dims":
                    long[] items = Case.Integers(value);
                    words.Add(items.Length);
                    foreach (long item in items) words.AddRange(type == "dims" ? new[] { 0, item } : new[] { item });
                    break;
                default:
                    words.Add(Convert.ToInt64(value));
                    break;
            }
        }

        /// <summary>The overload that takes these inputs and attributes.</summary>
        private MethodInfo Choose(string op, Tensor[] inputs, Dictionary<string, object> attrs)
        {
            if (IsHidden(op)) return null;
            bool scalars = inputs.Length == 2 && inputs.Count(IsWeak) == 1;
            foreach (MethodInfo method in methods[Pascal(op)])
            {
                ParameterInfo[] parameters = method.GetParameters();
                if (parameters.Length > 0 && typeof(Delegate).IsAssignableFrom(parameters[0].ParameterType)) continue;
                bool options = parameters.Length > 0 && IsOptions(parameters.Last());
                var names = new HashSet<string>(parameters.Select(parameter => parameter.Name.TrimStart('@')));
                bool needsOptions = attrs.Keys.Any(name => !names.Contains(Camel(name)));
                if (options != needsOptions) continue;
                if (!parameters.Any(parameter => parameter.ParameterType == typeof(Scalar)))
                {
                    if (!scalars || parameters.All(parameter => parameter.ParameterType != typeof(Tensor))) return method;
                    if (methods[Pascal(op)].All(other => other.GetParameters().All(p => p.ParameterType != typeof(Scalar)))) return method;
                    continue;
                }
                if (scalars && (parameters[0].ParameterType == typeof(Scalar)) == IsWeak(inputs[0])) return method;
            }
            return null;
        }

        /// <summary>What to call a method with; null when its types cannot say it.</summary>
        private object[] Arguments(Context dl, MethodInfo method, Tensor[] inputs, Dictionary<string, object> attrs)
        {
            var arguments = new List<object>();
            int next = 0;
            foreach (ParameterInfo parameter in method.GetParameters())
            {
                Type type = parameter.ParameterType;
                if (type == typeof(Tensor[]))
                {
                    arguments.Add(inputs.Skip(next).ToArray());
                    next = inputs.Length;
                }
                else if (type == typeof(Tensor) || type == typeof(Operand) || type == typeof(Scalar))
                {
                    if (next >= inputs.Length && DefaultOf(method, parameter) == Type.Missing) return null;
                    Tensor input = next < inputs.Length ? inputs[next] : null;
                    ++next;
                    if (type == typeof(Scalar)) arguments.Add(ScalarOf(input));
                    else if (type == typeof(Operand)) arguments.Add((Operand)input);
                    else arguments.Add(input);
                }
                else if (IsOptions(parameter))
                {
                    object options = Activator.CreateInstance(type);
                    foreach (PropertyInfo property in type.GetProperties())
                    {
                        string name = attrs.Keys.FirstOrDefault(key => Pascal(key) == property.Name);
                        if (name == null) continue;
                        if (!TryConvert(attrs[name], property.PropertyType, out object value)) return null;
                        property.SetValue(options, value, null);
                    }
                    arguments.Add(options);
                }
                else
                {
                    string name = attrs.Keys.FirstOrDefault(key => Camel(key) == parameter.Name.TrimStart('@'));
                    object value = Type.Missing;
                    if (name == null && !parameter.IsOptional && Nullable.GetUnderlyingType(type) != null) value = null;
                    else if (name == null && !parameter.IsOptional) value = DefaultOf(method, parameter);
                    else if (name == null) value = parameter.DefaultValue;
                    else if (!TryConvert(attrs[name], type, out value)) return null;
                    if (value == Type.Missing) return null;
                    arguments.Add(value);
                }
            }
            return next < inputs.Length ? null : arguments.ToArray();
        }

        /// <summary>The default of an optional argument that the overload with options wants to be given.</summary>
        private object DefaultOf(MethodInfo method, ParameterInfo parameter)
        {
            foreach (MethodInfo other in methods[method.Name])
            {
                if (other.ReturnType != typeof(Tensor)) continue;
                ParameterInfo same = other.GetParameters().FirstOrDefault(item => item.Name == parameter.Name && item.IsOptional);
                if (same != null) return same.DefaultValue;
            }
            return Type.Missing;
        }

        private static bool TryConvert(object value, Type type, out object converted)
        {
            Type plain = Nullable.GetUnderlyingType(type) ?? type;
            converted = null;
            if (value == null) return !type.IsValueType || plain != type;
            if (plain == typeof(double)) converted = Real(value);
            else if (plain == typeof(long[])) converted = Case.Integers(value);
            else if (plain == typeof(DType)) converted = value is string name ? Case.DTypeOf(name) : (DType)(long)value;
            else if (plain.IsEnum && !Enum.IsDefined(plain, Pascal((string)value))) return false;
            else if (plain.IsEnum) converted = Enum.Parse(plain, Pascal((string)value));
            else if (plain == typeof(bool) && !(value is bool)) return false; // an integer that is no truth value
            else converted = Convert.ChangeType(value, plain, CultureInfo.InvariantCulture);
            return true;
        }

        private static bool IsOptions(ParameterInfo parameter) => parameter.ParameterType.Name.EndsWith("Options");

        private static bool IsWeak(Tensor tensor) => tensor != null && tensor.IsWeak;

        private static Scalar ScalarOf(Tensor weak)
        {
            if (weak.DType == DType.F64) return weak.ToDouble();
            if (weak.DType == DType.Bool) return weak.ToBoolean();
            return weak.ToInt64();
        }

        private static double Real(object value)
        {
            if (!(value is string text)) return Convert.ToDouble(value);
            return text == "nan" ? double.NaN : text == "inf" ? double.PositiveInfinity : double.NegativeInfinity;
        }

        private static string Pascal(string name) =>
            string.Concat(name.Split('_').Select(word => word.Length == 0 ? "" : char.ToUpperInvariant(word[0]) + word.Substring(1)));

        private static string Camel(string name)
        {
            string pascal = Pascal(name);
            return char.ToLowerInvariant(pascal[0]) + pascal.Substring(1);
        }
    }
}
