// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dlcore.Conformance
{
    /// <summary>Runs the shared corpus through the generated methods: driver CASES [FILTER].</summary>
    internal static class Driver
    {
        private static int Main(string[] arguments)
        {
            int passed = 0, failed = 0;
            var api = new GeneratedApi();
            var covered = new HashSet<string>();
            string filter = arguments.Length > 1 ? arguments[1] : "";
            using (var engine = Engine.Open())
            {
                var dl = engine.Context(seed: 42);
                foreach (Case test in Family.LoadAll(arguments[0]).SelectMany(family => family.Cases))
                {
                    covered.Add(test.Op);
                    if (!test.Name.Contains(filter)) continue;
                    using (dl.Scope())
                    {
                        try
                        {
                            new Checks(dl, api, test).Run();
                            ++passed;
                        }
                        catch (Exception exception)
                        {
                            ++failed;
                            bool expected = exception is Failure || exception is DlcoreException;
                            Console.WriteLine($"FAILED {test.Name}: {(expected ? exception.Message : exception.ToString())}");
                        }
                    }
                }
                dl.Dispose();
                if (engine.Statistics.LiveTensors != 0)
                {
                    ++failed;
                    Console.WriteLine($"FAILED: {engine.Statistics.LiveTensors} tensors are alive at the end");
                }
            }
            foreach (string op in api.Ops.Where(op => !api.IsHidden(op) && !covered.Contains(op)))
            {
                ++failed;
                Console.WriteLine($"FAILED: {op} has no case");
            }
            Console.WriteLine($"{api.RawCalls} calls by number, where no typed method can say what a case says");
            Console.WriteLine($"{passed} passed, {failed} failed");
            return failed == 0 && passed > 0 ? 0 : 1;
        }
    }
}
