// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Globalization;

namespace Dlcore.Benchmarks
{
    /// <summary>The C# side of the benchmarks of calls: a warm process that answers lines, in the protocol of
    /// worker/main.c. On CoreCLR and on Mono it is the same program.</summary>
    internal static class Worker
    {
        private const int CheckedTurns = 3;

        private static int Main(string[] arguments)
        {
            CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
            int threads = arguments.Length > 0 ? int.Parse(arguments[0]) : 0;
            using (var engine = Engine.Open(new EngineOptions { Threads = threads }))
            using (var dl = engine.Context(seed: 8))
            {
                EngineStatistics about = engine.Statistics;
                Console.WriteLine($"{{\"isa\": \"{about.InstructionSet}\", \"threads\": {about.Threads}, " +
                                  $"\"version\": \"{Engine.BuildInfo}\"}}");
                Tensor a = Fill(dl, 1), b = Fill(dl, 2);
                for (string line; (line = Console.ReadLine()) != null;) Console.WriteLine(Answer(dl, a, b, line.Split(' ')));
            }
            return 0;
        }

        private static string Answer(Context dl, Tensor a, Tensor b, string[] words)
        {
            if (words[0] == "drop") return "dropped";
            string name = words.Length > 1 ? words[1] : "";
            bool scoped = name == "add16_csharp_scope";
            if (!scoped && name != "add16_csharp" && name != "add16_csharp_mono") return "error no such benchmark";
            if (words[0] == "check") return $"value {Checksum(a, b):G9}";
            long turns = 0;
            bool understood = words[0] == "run" && words.Length == 3 && long.TryParse(words[2], out turns) && turns >= 0;
            if (!understood) return "error not understood";
            double seconds = scoped ? TimeInScopes(dl, a, b, turns) : TimeOneByOne(a, b, turns);
            return $"seconds {seconds:F9}";
        }

        private static double TimeOneByOne(Tensor a, Tensor b, long turns)
        {
            var watch = Stopwatch.StartNew();
            for (long i = 0; i < turns; ++i) a.Add(b).Dispose();
            return watch.Elapsed.TotalSeconds;
        }

        /// <summary>As in a loop over a loader: what a turn of 16 calls made goes back together.</summary>
        private static double TimeInScopes(Context dl, Tensor a, Tensor b, long turns)
        {
            var watch = Stopwatch.StartNew();
            using (Scope scope = dl.Scope())
            {
                for (long i = 0; i < turns; ++i)
                {
                    a.Add(b);
                    if (i % 16 == 15) scope.Reset();
                }
            }
            return watch.Elapsed.TotalSeconds;
        }

        private static double Checksum(Tensor a, Tensor b)
        {
            double sum = 0;
            for (int turn = 0; turn < CheckedTurns; ++turn)
            {
                using (Tensor c = a + b)
                {
                    sum = 0;
                    float[] data = c.ToArray<float>();
                    for (int i = 0; i < data.Length; ++i) sum += (double)data[i] * Math.Abs((double)data[i]) * (1 + i % 7);
                }
            }
            return sum < 0 ? -Math.Sqrt(-sum) : Math.Sqrt(sum);
        }

        /// <summary>The numbers that all sides compute with.</summary>
        private static Tensor Fill(Context dl, uint seed)
        {
            var data = new float[16];
            for (uint i = 0; i < data.Length; ++i)
            {
                uint h = unchecked((i + 1000003u * seed) * 2654435761u) >> 8;
                data[i] = h / 16777216f - 0.5f;
            }
            return dl.Tensor(data, 16);
        }
    }
}
