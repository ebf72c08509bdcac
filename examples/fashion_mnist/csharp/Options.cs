// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;

/// <summary>What stands on the command line.</summary>
internal sealed class Options
{
    private const string Usage = @"Trains a small classifier on Fashion-MNIST.
  --epochs N         passes over the training set (5)
  --threads N        threads of the engine (0: all)
  --seed N           of weights and order (8)
  --limit N          stop after N steps of this run
  --data DIR         directory with the IDX files, plain or gzip
  --losses FILE      write the loss of each step, as a hexadecimal float
  --save FILE        where the weights go (fashion.safetensors)
  --checkpoint FILE  save the whole state after the last step
  --resume FILE      go on from such a state";

    internal long Epochs = 5;
    internal int Threads;
    internal ulong Seed = 8;
    internal long Limit = -1;
    internal string Data, Losses, Checkpoint, Resume;
    internal string Save = "fashion.safetensors";

    internal static Options Parse(string[] arguments)
    {
        var options = new Options();
        var take = new Dictionary<string, Action<string>>
        {
            ["--epochs"] = text => options.Epochs = Number(text),
            ["--threads"] = text => options.Threads = (int)Number(text),
            ["--seed"] = text => options.Seed = (ulong)Number(text),
            ["--limit"] = text => options.Limit = Number(text) == 0 ? -1 : Number(text),
            ["--data"] = text => options.Data = text,
            ["--losses"] = text => options.Losses = text,
            ["--save"] = text => options.Save = text,
            ["--checkpoint"] = text => options.Checkpoint = text,
            ["--resume"] = text => options.Resume = text,
        };
        for (int i = 0; i < arguments.Length; i += 2)
        {
            if (arguments[i] == "--help")
            {
                Console.WriteLine(Usage);
                Environment.Exit(0);
            }
            if (i + 1 == arguments.Length || !take.TryGetValue(arguments[i], out Action<string> set))
            {
                throw new FormatException($"{arguments[i]} is not understood\n{Usage}");
            }
            set(arguments[i + 1]);
        }
        return options;
    }

    private static long Number(string text)
    {
        if (long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long number)) return number;
        throw new FormatException($"{text} is no number\n{Usage}");
    }
}
