// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Dlcore;
using Dlcore.Nn;
using Dlcore.Optim;

/// <summary>Trains a small classifier on Fashion-MNIST, saves it, loads it back and reports its accuracy.</summary>
internal static class Train
{
    private static Sequential Classifier(Context dl) => new Sequential(
        dl, new Linear(dl, 784, 256), new ReLU(dl), new Linear(dl, 256, 128), new ReLU(dl), new Linear(dl, 128, 10));

    private static double Accuracy(Context dl, Module model, Loader test)
    {
        long right = 0;
        using (dl.Inference())
        {
            foreach (var batch in test)
            {
                var (x, y) = batch; // other compilers than Mono's take foreach (var (x, y) in test)
                right += model.Call(x).Argmax(1).Equal(y).Sum().ToInt64();
            }
        }
        return (double)right / test.Samples;
    }

    private static void Run(Context dl, Options options, TextWriter losses)
    {
        dl.Data.SetDirectory(options.Data);
        var train = Batches.Open(dl, "train", 64, shuffle: true);
        var test = Batches.Open(dl, "test", 1000);
        Sequential model = Classifier(dl), copy = Classifier(dl);
        var adam = new Adam(dl, model.Parameters(), lr: 1e-3);
        var checkpoint = new Checkpoint(dl).Add("model", model).Add("adam", adam).Add("train", train);
        if (options.Resume != null) checkpoint.Load(options.Resume);

        long steps = 0;
        for (long epoch = train.Epoch; epoch < options.Epochs && steps != options.Limit; ++epoch)
        {
            var progress = Progress.Of(train, $"epoch {epoch + 1}/{options.Epochs}");
            foreach (var batch in progress) // each turn is a scope: what it made goes back at the next one
            {
                var (x, y) = batch;
                Tensor loss = dl.CrossEntropy(model.Call(x), y);
                loss.Backward();
                adam.Step(); // uses the gradients and clears them
                float last = loss.ToSingle();
                progress.Note = $"loss {last:F4}";
                losses.WriteLine(HexFloat.Format(last));
                if (++steps == options.Limit) break;
            }
        }

        if (options.Checkpoint != null) checkpoint.Save(options.Checkpoint);
        model.Save(options.Save);
        copy.Load(options.Save);
        Console.WriteLine($"accuracy {Accuracy(dl, copy, test):F4}");
    }

    private static int Main(string[] arguments)
    {
        try
        {
            Options options = Options.Parse(arguments);
            using (var losses = options.Losses == null ? TextWriter.Null : new StreamWriter(options.Losses))
            using (var engine = Engine.Open(new EngineOptions { Threads = options.Threads }))
            using (var dl = engine.Context("cpu", options.Seed)) Run(dl, options, losses);
            return 0;
        }
        catch (Exception error) when (error is DlcoreException || error is IOException || error is FormatException)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
