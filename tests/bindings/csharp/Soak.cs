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
        private const int Rounds = 5; // a leak grows in each, heaps and compilers settle

        internal static int Run(long good, long failing)
        {
            using (var engine = Engine.Open(new EngineOptions { Threads = 1 }))
            using (var dl = engine.Context())
            {
                Tensor a = dl.Tensor(Enumerable.Range(0, 16).Select(i => (float)i).ToArray(), 4, 4), wrong = dl.Tensor(new float[3]);
                Calls(dl, a, wrong, good, failing);
                long live = engine.Statistics.LiveTensors;
                double before = Resident();
                bool flat = false;
                for (int round = 0; round < Rounds && !flat; ++round)
                {
                    Calls(dl, a, wrong, good, failing);
                    double after = Resident();
                    long now = engine.Statistics.LiveTensors;
                    Console.WriteLine($"{good} calls and {failing} failing ones: {live} tensors alive before, {now} after; " +
                                      $"{before:F1} MB resident before, {after:F1} after");
                    if (now != live) break;
                    flat = after <= before * Allowed;
                    before = after;
                }
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
