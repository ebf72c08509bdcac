// SPDX-License-Identifier: Apache-2.0
using System;

/// <summary>What stands on the command line.</summary>
internal sealed class Options
{
    internal long Requests = 10000;
    internal int Workers = 32;
    internal bool Check;

    internal static Options Parse(string[] arguments)
    {
        var options = new Options();
        for (int i = 0; i < arguments.Length; ++i)
        {
            string value = i + 1 < arguments.Length ? arguments[i + 1] : "";
            if (arguments[i] == "--check")
            {
                options.Check = true;
            }
            else if (arguments[i] == "--requests" && long.TryParse(value, out options.Requests) && options.Requests >= 0)
            {
                ++i;
            }
            else if (arguments[i] == "--workers" && int.TryParse(value, out options.Workers) && options.Workers > 0)
            {
                ++i;
            }
            else
            {
                throw new FormatException($"{arguments[i]} {value} is not understood: serve [--requests N] [--workers N] [--check]");
            }
        }
        return options;
    }
}
