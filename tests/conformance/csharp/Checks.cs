// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dlcore.Conformance
{
    /// <summary>What a case turned out not to do.</summary>
    internal sealed class Failure : Exception
    {
        internal Failure(string message)
            : base(message)
        {
        }
    }

    /// <summary>What is checked of a case, on a context whose scope the caller closes.</summary>
    internal sealed class Checks
    {
        private readonly Context dl;
        private readonly GeneratedApi api;
        private readonly Case test;

        internal Checks(Context dl, GeneratedApi api, Case test)
        {
            this.dl = dl;
            this.api = api;
            this.test = test;
        }

        internal void Run()
        {
            if (test.Expect.ContainsKey("error"))
            {
                CheckError();
                return;
            }
            CheckOutputs();
            CheckLayout();
            if (test.Gradients != null) CheckGradients();
            if (test.Has("jvp")) CheckForwardMode();
            if (test.Has("smooth")) CheckGradcheck();
            if (test.Has("vmap")) CheckVmap();
        }

        private Tensor Call(Tensor[] inputs) => Call(dl, inputs);

        private Tensor Call(Context on, Tensor[] inputs) =>
            test.Words != null ? api.InvokeRaw(on, test.Op, inputs, test.Words, 1)[0] : api.Call(on, test.Op, inputs, test.Attrs);

        private void CheckError()
        {
            string code = (string)test.Expect["error"];
            try
            {
                Tensor[] inputs = Inputs();
                Call(inputs);
            }
            catch (DlcoreException error)
            {
                string found = string.Concat(error.Code.ToString().Select(c => c)).ToUpperInvariant();
                if (found != code.Replace("_", "")) throw new Failure($"failed with {error.Code}: {error.Message}, expected {code}");
                if (error.GetType().Name != error.Code + "Exception") throw new Failure($"threw {error.GetType().Name} for {error.Code}");
                foreach (string word in (List<object>)test.Expect["contains"])
                {
                    if (!error.Message.Contains(word)) throw new Failure($"message '{error.Message}' lacks '{word}'");
                }
                return;
            }
            throw new Failure($"succeeded, expected {code}");
        }

        private void CheckOutputs()
        {
            int count = test.Outputs.Count;
            RequireOutput(0, Call(Inputs()));
            if (count == 1) return;
            if (count <= api.VisibleOutputs(test.Op)) throw new Failure("has visible outputs that this driver does not know");
            Tensor[] all = api.InvokeRaw(dl, test.Op, Inputs(), test.Words ?? api.Pack(test.Op, test.Attrs), count);
            for (int i = 0; i < count; ++i) RequireOutput(i, all[i]);
        }

        private void RequireOutput(int index, Tensor tensor)
        {
            var expected = (Dictionary<string, object>)test.Outputs[index];
            string where = $"output {index}: ";
            Elements got = Read(tensor);
            DType dtype = Case.DTypeOf((string)expected["dtype"]);
            if (got.DType != dtype) throw new Failure($"{where}dtype is {got.DType}, expected {dtype}");
            RequireShape(where, got.Shape, Case.Integers(expected["shape"]));
            bool weak = Case.Member(expected, "weak") is bool expectedWeak && expectedWeak;
            if (tensor.IsWeak != weak) throw new Failure($"{where}weakness is {tensor.IsWeak}");
            if (Case.Member(expected, "within") is List<object> bounds)
            {
                double low = Convert.ToDouble(bounds[0]), high = Convert.ToDouble(bounds[1]);
                foreach (double value in Numbers.Reals(got))
                {
                    if (!(value >= low && value < high)) throw new Failure($"{where}{value} is not in [{low}, {high})");
                }
            }
            if (!expected.ContainsKey("tensor")) return;
            Require(where, Numbers.Difference(got, test.Family.Tensor(expected["tensor"]), test.Tolerance));
        }

        /// <summary>Strided and contiguous inputs give the same bits.</summary>
        private void CheckLayout()
        {
            Tensor[] inputs = Inputs(), plain = (Tensor[])inputs.Clone();
            bool strided = false;
            for (int i = 0; i < inputs.Length; ++i)
            {
                if (test.Inputs[i] == null || Case.Member(test.Inputs[i], "view") == null) continue;
                plain[i] = Create(Read(inputs[i]));
                strided = true;
            }
            if (!strided) return;
            bool same = Read(Call(inputs)).Bytes.SequenceEqual(Read(Call(plain)).Bytes);
            if (!same) throw new Failure("not the same bits as with contiguous inputs");
        }

        private void CheckGradients()
        {
            Tensor[] inputs = Inputs();
            int[] positions = test.Differentiable;
            foreach (int i in positions) inputs[i] = inputs[i].Watch();
            Tensor output = Call(inputs);
            var gradients = new Tensor[positions.Length];
            if (output.RequiresGrad) // else it is a constant, whose gradients are zeros
            {
                gradients = dl.Grad(new[] { output }, Array.ConvertAll(positions, i => inputs[i]), new[] { Create(Seed()) },
                                    new GradOptions { AllowUnused = true });
            }
            for (int i = 0; i < positions.Length; ++i)
            {
                string where = $"gradient of input {positions[i]}: ";
                long[] shape = ShapeOf(positions[i]);
                DType dtype = DTypeOf(positions[i]);
                var zeros = new double[shape.Aggregate(1L, (a, b) => a * b)];
                Elements got = gradients[i] != null ? Read(gradients[i]) : Numbers.Encode(zeros, shape, dtype);
                if (got.DType != dtype) throw new Failure($"{where}dtype is {got.DType}, expected {dtype}");
                RequireShape(where, got.Shape, shape);
                Require(where, Numbers.Difference(got, Gradient(positions[i]), new Tolerance(test.Gradients["tolerance"])));
            }
        }

        private void CheckForwardMode()
        {
            int[] positions = test.Differentiable;
            Tensor[] inputs = Inputs();
            var directions = new Tensor[inputs.Length];
            double expected = 0, size = 0;
            foreach (int i in positions)
            {
                double[] gradient = Numbers.Reals(Gradient(i));
                double[] direction = gradient.Select((_, e) => ((e * 7 + i * 3 + 3) % 11 - 5) / 8.0).ToArray();
                for (int e = 0; e < gradient.Length; ++e)
                {
                    expected += gradient[e] * direction[e];
                    size += Math.Abs(gradient[e] * direction[e]);
                }
                directions[i] = Create(Numbers.Encode(direction, ShapeOf(i), DTypeOf(i)));
            }
            if (double.IsNaN(size) || double.IsInfinity(size)) return;
            Elements seed = Seed();
            // An absent optional input is no tensor to lift.
            int[] given = Enumerable.Range(0, inputs.Length).Where(i => inputs[i] != null).ToArray();
            var (value, tangent) = dl.Jvp(lifted =>
            {
                var all = new Tensor[inputs.Length];
                for (int i = 0; i < given.Length; ++i) all[given[i]] = lifted[i];
                return Call(all);
            }, Array.ConvertAll(given, i => inputs[i]), Array.ConvertAll(given, i => directions[i]));
            Elements expectedValue = test.Family.Tensor(Case.Member(test.Outputs[0], "tensor"));
            Require("forward mode, primal: ", Numbers.Difference(Read(value), expectedValue, test.Tolerance));
            Elements rates = Read(tangent);
            RequireShape("forward mode, tangent: ", rates.Shape, seed.Shape);
            double got = Numbers.Reals(seed).Zip(Numbers.Reals(rates), (a, b) => a * b).Sum();
            size += Numbers.Reals(seed).Zip(Numbers.Reals(rates), (a, b) => Math.Abs(a * b)).Sum();
            var tolerance = new Tolerance(test.Gradients["tolerance"]);
            if (!(Math.Abs(got - expected) <= (tolerance.Relative + 1e-10) * size + tolerance.Absolute))
            {
                throw new Failure($"forward mode: <seed, J t> is {got}, expected {expected}");
            }
        }

        private void CheckGradcheck()
        {
            int[] positions = test.Differentiable;
            Tensor[] inputs = Inputs();
            dl.GradCheck((child, points) =>
            {
                Tensor[] all = Array.ConvertAll(inputs, input => input?.On(child));
                for (int i = 0; i < points.Length; ++i) all[positions[i]] = points[i];
                return Call(child, all);
            }, Array.ConvertAll(positions, i => inputs[i]), order: 2);
        }

        private const int Examples = 3;

        private void CheckVmap()
        {
            Tensor[] inputs = Inputs();
            int[] tensors = Enumerable.Range(0, inputs.Length)
                .Where(i => test.Inputs[i] != null && !(Case.Member(test.Inputs[i], "weak") is bool)).ToArray();
            CompareWithLoop(inputs, tensors, "vmap: ");
            if (tensors.Length > 1) CompareWithLoop(inputs, new[] { tensors[0] }, "vmap of the first input: ");
        }

        private void CompareWithLoop(Tensor[] inputs, int[] mapped, string where)
        {
            if (mapped.Length == 0) return;
            Elements[] arrays = Array.ConvertAll(mapped, i => Read(inputs[i]));
            Elements expected = null;
            var bytes = new List<byte>();
            for (int k = 0; k < Examples; ++k)
            {
                var one = (Tensor[])inputs.Clone();
                for (int m = 0; m < mapped.Length; ++m) one[mapped[m]] = Create(Example(arrays[m], k));
                Elements result = Read(Call(one));
                bytes.AddRange(result.Bytes);
                expected = new Elements { DType = result.DType, Shape = new long[] { Examples }.Concat(result.Shape).ToArray() };
            }
            expected.Bytes = bytes.ToArray();
            Tensor[] stacked = Array.ConvertAll(arrays, array => Create(new Elements
            {
                DType = array.DType, Shape = new long[] { Examples }.Concat(array.Shape).ToArray(),
                Bytes = Enumerable.Range(0, Examples).SelectMany(k => Example(array, k).Bytes).ToArray(),
            }));
            Elements got = Read(dl.Vmap(lifted =>
            {
                var all = (Tensor[])inputs.Clone();
                for (int m = 0; m < mapped.Length; ++m) all[mapped[m]] = lifted[m];
                return Call(all);
            }, stacked, Array.ConvertAll(stacked, _ => (int?)0)));
            if (got.DType != expected.DType) throw new Failure($"{where}dtype is {got.DType}, expected {expected.DType}");
            RequireShape(where, got.Shape, expected.Shape);
            Require(where, Numbers.Difference(got, expected, test.Tolerance));
        }

        /// <summary>Example k of an input: its elements moved on by k places, so that all are within the domain.</summary>
        private static Elements Example(Elements array, int k)
        {
            int size = array.Count == 0 ? 1 : (int)(array.Bytes.Length / array.Count);
            int by = array.Count == 0 ? 0 : (int)(k % array.Count) * size;
            byte[] bytes = array.Bytes.Skip(by).Concat(array.Bytes.Take(by)).ToArray();
            return new Elements { DType = array.DType, Shape = array.Shape, Bytes = bytes };
        }

        // ---- Tensors

        private Tensor[] Inputs() => test.Inputs.Select(Input).ToArray();

        private Tensor Input(object record)
        {
            if (record == null) return null;
            if (Case.Member(record, "weak") is bool)
            {
                object value = Case.Member(record, "value");
                switch ((string)Case.Member(record, "kind"))
                {
                    case "f64": return dl.Weak(Convert.ToDouble(value));
                    case "i64": return dl.Weak((long)value);
                    default: return dl.Weak((bool)value);
                }
            }
            Tensor tensor = Create(test.Family.Tensor(Case.Member(record, "tensor")));
            if (!(Case.Member(record, "view") is List<object> view)) return tensor;
            foreach (List<object> step in view)
            {
                tensor = api.Call(dl, (string)step[0], new[] { tensor }, (Dictionary<string, object>)step[1]);
            }
            RequireView(tensor, record);
            return tensor;
        }

        /// <summary>What a case calls strided must reach the op strided.</summary>
        private static void RequireView(Tensor tensor, object record)
        {
            long[] shape = tensor.Shape, strides = tensor.Strides, wanted = Case.Integers(Case.Member(record, "strides"));
            RequireShape("view: ", shape, Case.Integers(Case.Member(record, "shape")));
            if (tensor.Count == 0) return;
            for (int i = 0; i < shape.Length; ++i)
            {
                if (shape[i] > 1 && strides[i] != wanted[i]) throw new Failure($"view: stride {i} is {strides[i]}, expected {wanted[i]}");
            }
        }

        private Tensor Create(Elements elements) => dl.Create(elements.DType, elements.Bytes, elements.Shape);

        private static Elements Read(Tensor tensor)
        {
            var elements = new Elements { DType = tensor.DType, Shape = tensor.Shape };
            elements.Bytes = new byte[elements.Count * SizeOf(elements.DType)];
            tensor.Read(elements.DType, elements.Bytes);
            return elements;
        }

        private static int SizeOf(DType dtype)
        {
            switch (dtype)
            {
                case DType.I64: case DType.F64: return 8;
                case DType.I32: case DType.F32: return 4;
                case DType.I16: case DType.F16: case DType.BF16: return 2;
                default: return 1;
            }
        }

        private Elements Seed()
        {
            long[] shape = Case.Integers(Case.Member(test.Outputs[0], "shape"));
            return Numbers.Encode(Numbers.Reals(test.Family.Tensor(test.Gradients["seed"])), shape,
                                  Case.DTypeOf((string)Case.Member(test.Outputs[0], "dtype")));
        }

        private Elements Gradient(int input) => test.Family.Tensor(((List<object>)test.Gradients["inputs"])[input]);

        private long[] ShapeOf(int input) => Case.Integers(Case.Member(test.Inputs[input], "shape"));

        private DType DTypeOf(int input) => Case.DTypeOf((string)Case.Member(test.Inputs[input], "dtype"));

        private static void RequireShape(string where, long[] got, long[] expected)
        {
            if (got.SequenceEqual(expected)) return;
            throw new Failure($"{where}shape is [{string.Join(", ", got)}], expected [{string.Join(", ", expected)}]");
        }

        private static void Require(string where, string difference)
        {
            if (difference != null) throw new Failure(where + difference);
        }
    }
}
