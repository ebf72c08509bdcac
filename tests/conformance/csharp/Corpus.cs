// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

namespace Dlcore.Conformance
{
    /// <summary>The elements of a tensor in row-major order.</summary>
    internal sealed class Elements
    {
        internal DType DType;
        internal long[] Shape;
        internal byte[] Bytes;

        internal long Count => Shape.Aggregate(1L, (product, size) => product * size);
    }

    /// <summary>One file of cases with its tensors.</summary>
    internal sealed class Family
    {
        internal string Name;
        internal List<Case> Cases;
        private Dictionary<string, Elements> tensors;

        internal Elements Tensor(object key) => tensors[(string)key];

        internal static List<Family> LoadAll(string folder) =>
            Directory.GetFiles(folder, "*.json").OrderBy(path => path, StringComparer.Ordinal).Select(Load).ToList();

        private static Family Load(string path)
        {
            var family = new Family { Name = Path.GetFileNameWithoutExtension(path) };
            family.tensors = ReadTensors(Path.ChangeExtension(path, ".safetensors"));
            family.Cases = ((List<object>)Json.Parse(File.ReadAllText(path))).Select(item => new Case(family, item)).ToList();
            return family;
        }

        private static Dictionary<string, Elements> ReadTensors(string path)
        {
            byte[] file = File.ReadAllBytes(path);
            int length = (int)BitConverter.ToInt64(file, 0), body = 8 + length;
            var found = new Dictionary<string, Elements>();
            foreach (var item in (Dictionary<string, object>)Json.Parse(Encoding.UTF8.GetString(file, 8, length)))
            {
                var about = (Dictionary<string, object>)item.Value;
                if (!about.ContainsKey("data_offsets")) continue;
                long[] range = Case.Integers(about["data_offsets"]);
                var bytes = new byte[range[1] - range[0]];
                Array.Copy(file, body + range[0], bytes, 0, bytes.Length);
                found[item.Key] = new Elements
                {
                    DType = Case.DTypeOf((string)about["dtype"]), Shape = Case.Integers(about["shape"]), Bytes = bytes,
                };
            }
            return found;
        }
    }

    /// <summary>One case, as README.md beside the corpus describes it.</summary>
    internal sealed class Case
    {
        private readonly Dictionary<string, object> json;

        internal Case(Family family, object json)
        {
            Family = family;
            this.json = (Dictionary<string, object>)json;
        }

        internal Family Family { get; }

        internal string Name => (string)json["name"];

        internal string Op => (string)json["op"];

        internal List<object> Inputs => (List<object>)json["inputs"];

        internal Dictionary<string, object> Attrs =>
            Member(json, "attrs") as Dictionary<string, object> ?? new Dictionary<string, object>();

        internal long[] Words => json.ContainsKey("words") ? Integers(json["words"]) : null;

        internal Dictionary<string, object> Expect => (Dictionary<string, object>)json["expect"];

        internal List<object> Outputs => (List<object>)Expect["outputs"];

        internal Tolerance Tolerance => new Tolerance(Member(json, "tolerance"), Has("signed_zero"));

        internal Dictionary<string, object> Gradients => (Dictionary<string, object>)Member(json, "gradients");

        /// <summary>Inputs whose gradient is known.</summary>
        internal int[] Differentiable =>
            Gradients == null ? new int[0]
            : Enumerable.Range(0, Inputs.Count).Where(i => ((List<object>)Gradients["inputs"])[i] != null).ToArray();

        internal bool Has(string flag) => Member(json, "flags") is List<object> flags && flags.Contains(flag);

        internal static object Member(object json, string name) =>
            ((Dictionary<string, object>)json).TryGetValue(name, out object value) ? value : null;

        internal static long[] Integers(object list) => ((List<object>)list).Select(Convert.ToInt64).ToArray();

        internal static DType DTypeOf(string name) => (DType)Enum.Parse(typeof(DType), name, ignoreCase: true);
    }
}
