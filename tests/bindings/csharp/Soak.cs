// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Dlcore.Tests
{
    /// <summary>Many calls in a loop, failing ones included: live handles and resident memory stay flat.</summary>
    internal static class Soak
    {
        private const double Allowed = 1.05;

        internal static int Run(long good, long failing)
        {
            using (var engine = Engine.Open(new EngineOptions { Threads = 1 }))
            using (var dl = engine.Context())
            {
                Tensor a = dl.Tensor(Enumerable.Range(0, 16).Select(i => (float)i).ToArray(), 4, 4), wrong = dl.Tensor(new float[3]);
                Calls(dl, a, wrong, good, failing); // as long as what is measured: heaps and compilers have settled
                long live = engine.Statistics.LiveTensors;
                double before = Resident();
                Calls(dl, a, wrong, good, failing);
                double after = Resident();
                bool flat = engine.Statistics.LiveTensors == live && after <= before * Allowed;
                EngineStatistics now = engine.Statistics;
                Console.WriteLine($"{good} calls and {failing} failing ones: {live} tensors alive before, {now.LiveTensors} after; " +
                                  $"{before:F1} MB resident before, {after:F1} after");
                Console.WriteLine(flat ? "1 passed, 0 failed" : "0 passed, 1 failed");
                return flat ? 0 : 1;
            }
        }

        private static void Calls(Context dl, Tensor a, Tensor wrong, long good, long failing)
        {
            for (long i = 0; i < good; ++i)
            {
                if (i % 2 == 0) a.Add(a).Dispose();
                else using (dl.Scope()) dl.Softmax(a * 2);
            }
            for (long i = 0; i < failing; ++i)
            {
                try
                {
                    a.Matmul(wrong);
                    throw new Failure("matmul of shapes that do not fit succeeded");
                }
                catch (InvalidArgumentException)
                {
                    // as it should be
                }
            }
            Runner.Collect();
        }

        private static double Resident()
        {
            string line = File.ReadLines("/proc/self/status").First(text => text.StartsWith("VmRSS"));
            string kilobytes = line.Split(new[] { ' ', '\t' }, StringSplitOptions.RemoveEmptyEntries)[1];
            return double.Parse(kilobytes, CultureInfo.InvariantCulture) / 1024;
        }
    }
}
