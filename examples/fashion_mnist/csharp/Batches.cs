// SPDX-License-Identifier: Apache-2.0
using System;
using Dlcore;

/// <summary>Fashion-MNIST, or something in its place where it is not installed.</summary>
internal static class Batches
{
    internal static Loader Open(Context dl, string part, long size, bool shuffle = false)
    {
        try
        {
            return dl.Data.FashionMnist(part).Batch(size, shuffle);
        }
        catch (NotFoundException)
        {
            Console.WriteLine($"Fashion-MNIST ({part}) is not installed (package dataset-fashion-mnist): using generated data instead");
            return part == "train" ? Generated(dl, 6000, 11, size, shuffle) : Generated(dl, 1000, 12, size, shuffle);
        }
    }

    /// <summary>Ten fixed random patterns with noise on top.</summary>
    private static Loader Generated(Context dl, long count, ulong seed, long size, bool shuffle)
    {
        using (dl.Scope())
        {
            dl.ManualSeed(7);
            Tensor patterns = dl.RandomUniform(10, 784);
            dl.ManualSeed(seed);
            Tensor noise = dl.RandomUniform(count, 784);
            Tensor labels = dl.RandomIntegers(new[] { count }, 0, 10);
            Tensor samples = labels.OneHot(10).Matmul(patterns) * 0.5 + noise * 0.5;
            return dl.Data.FromTensors(samples, labels).Batch(size, shuffle);
        }
    }
}
