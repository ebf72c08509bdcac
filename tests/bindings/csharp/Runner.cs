// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Linq;
using System.Reflection;

namespace Dlcore.Tests
{
    /// <summary>Runs every public static method of the classes here whose name ends in Tests, each on an engine of its own
    /// on which nothing may be alive afterwards. Arguments: a part of a name; or `soak GOOD FAILING`.</summary>
    internal static class Runner
    {
        private static int Main(string[] arguments)
        {
            if (arguments.Length == 3 && arguments[0] == "soak") return Soak.Run(long.Parse(arguments[1]), long.Parse(arguments[2]));
            string filter = arguments.Length > 0 ? arguments[0] : "";
            int passed = 0, failed = 0;
            foreach (MethodInfo test in typeof(Runner).Assembly.GetTypes().Where(type => type.Name.EndsWith("Tests"))
                         .OrderBy(type => type.Name).SelectMany(type => type.GetMethods(BindingFlags.Public | BindingFlags.Static)))
            {
                string name = $"{test.DeclaringType.Name}.{test.Name}";
                if (!name.Contains(filter)) continue;
                var watch = Stopwatch.StartNew();
                string failure = Failure(test);
                if (failure == null) ++passed;
                else ++failed;
                if (failure != null) Console.WriteLine($"FAILED {name}: {failure}");
                else if (watch.Elapsed.TotalSeconds > 1) Console.WriteLine($"{name}: {watch.Elapsed.TotalSeconds:F1} s");
            }
            Console.WriteLine($"{passed} passed, {failed} failed");
            return failed == 0 && passed > 0 ? 0 : 1;
        }

        private static string Failure(MethodInfo test)
        {
            try
            {
                using (var engine = Engine.Open(new EngineOptions { Threads = 2 }))
                {
                    test.Invoke(null, new object[] { engine });
                    Collect();
                    return Left(engine.Statistics);
                }
            }
            catch (TargetInvocationException exception)
            {
                return exception.InnerException is Failure failure ? failure.Message : exception.InnerException.ToString();
            }
        }

        /// <summary>Runs the finalizers of what nobody refers to.</summary>
        internal static void Collect()
        {
            for (int i = 0; i < 2; ++i)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }

        private static string Left(EngineStatistics now)
        {
            long[] live =
            {
                now.LiveTensors, now.LiveVariables, now.LiveModules, now.LiveOptimizers, now.LiveSchedules, now.LiveLoaders, now.LiveGraphs,
                now.LiveContexts,
            };
            return live.All(count => count == 0) ? null
                : "left alive: tensors, variables, modules, optimizers, schedules, loaders, graphs, contexts: " + string.Join(", ", live);
        }
    }

    internal sealed class Failure : Exception
    {
        internal Failure(string message)
            : base(message)
        {
        }
    }

    internal static class Check
    {
        internal static void That(bool holds, string what)
        {
            if (!holds) throw new Failure(what);
        }

        internal static void Equal<T>(T got, T expected, string what = "value")
        {
            if (!Equals(got, expected)) throw new Failure($"{what} is {got}, expected {expected}");
        }

        internal static void Same<T>(T[] got, T[] expected, string what = "list")
        {
            if (got.SequenceEqual(expected)) return;
            throw new Failure($"{what} is [{string.Join(", ", got)}], expected [{string.Join(", ", expected)}]");
        }

        internal static void Near(double got, double expected, double tolerance, string what = "value")
        {
            if (!(Math.Abs(got - expected) <= tolerance)) throw new Failure($"{what} is {got}, expected {expected}");
        }

        /// <summary>Requires that exception, of exactly that class, whose message holds the words.</summary>
        internal static T Throws<T>(Action action, params string[] words)
            where T : Exception
        {
            try
            {
                action();
            }
            catch (Exception exception)
            {
                if (exception.GetType() != typeof(T)) throw new Failure($"threw {exception}, expected {typeof(T).Name}");
                foreach (string word in words) That(exception.Message.Contains(word), $"'{exception.Message}' lacks '{word}'");
                return (T)exception;
            }
            throw new Failure($"threw nothing, expected {typeof(T).Name}");
        }
    }
}
