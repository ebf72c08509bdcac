// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Concurrent;
using System.Linq;
using System.Threading;
using Dlcore;
using Dlcore.Nn;
using Dlcore.Optim;

/// <summary>Answers requests from many threads while one more trains the model: one engine, a context for each thread.
/// Workers answer from a snapshot, which no step changes; after every step the trainer publishes the next one.</summary>
internal sealed class Serve
{
    private const int Pixels = 784, Classes = 10, Probes = 8;
    private readonly Engine engine;
    private readonly Options options;
    private readonly ConcurrentDictionary<string, int> known = new ConcurrentDictionary<string, int>(); // answers of whole steps
    private volatile Module published;
    private volatile Exception failure; // of a worker; the others then stop
    private long taken, served, wrong, steps;

    private Serve(Engine engine, Options options)
    {
        this.engine = engine;
        this.options = options;
    }

    private bool Run()
    {
        using (var dl = engine.Context("cpu", seed: 42))
        {
            var model = new Sequential(dl, new Linear(dl, Pixels, 256), new ReLU(dl), new Linear(dl, 256, Classes));
            Publish(dl, model);
            Thread[] workers = Enumerable.Range(0, options.Workers).Select(_ => new Thread(Work)).ToArray();
            foreach (Thread worker in workers) worker.Start();
            Train(dl, model);
            foreach (Thread worker in workers) worker.Join();
        }
        if (failure != null) Console.Error.WriteLine($"worker: {failure.Message}");
        Console.WriteLine($"{served} requests, {wrong} wrong, {steps} steps");
        return served == options.Requests && wrong == 0;
    }

    private void Work()
    {
        try
        {
            using (var dl = engine.Context("cpu", inference: true))
            {
                for (long request; failure == null && (request = Interlocked.Increment(ref taken)) <= options.Requests;)
                {
                    string answer = Ask(dl, published, (int)(request % Probes));
                    if (options.Check && !known.ContainsKey(answer)) Interlocked.Increment(ref wrong);
                    Interlocked.Increment(ref served);
                }
            }
        }
        catch (DlcoreException error)
        {
            failure = error;
        }
    }

    private void Train(Context dl, Module model)
    {
        var adam = new Adam(dl, model.Parameters(), lr: 1e-3);
        while (failure == null && Interlocked.Read(ref taken) < options.Requests)
        {
            using (dl.Scope())
            {
                Tensor x = dl.RandomUniform(64, Pixels), y = dl.RandomIntegers(new long[] { 64 }, 0, Classes);
                dl.CrossEntropy(model.Call(x), y).Backward();
                adam.Step();
            }
            Publish(dl, model);
        }
    }

    /// <summary>What the model is now becomes what workers answer from.</summary>
    private void Publish(Context dl, Module model)
    {
        Module snapshot = model.Snapshot(); // the one before is collected when no worker uses it any more
        for (int number = 0; options.Check && number < Probes; ++number) known[Ask(dl, snapshot, number)] = 0;
        published = snapshot;
        ++steps;
    }

    /// <summary>The scores of a request, bit for bit.</summary>
    private static string Ask(Context dl, Module model, int number)
    {
        using (dl.Scope())
        {
            float[] scores = model.Call(dl.Tensor(Probe(number), 1, Pixels)).ToArray<float>();
            return number + ":" + BitConverter.ToString(scores.SelectMany(BitConverter.GetBytes).ToArray());
        }
    }

    private static float[] Probe(int number)
    {
        uint state = unchecked((uint)number * 2654435761u + 1);
        var pixels = new float[Pixels];
        for (int i = 0; i < Pixels; ++i)
        {
            state = unchecked(state * 1664525u + 1013904223u);
            pixels[i] = (state >> 8) / 16777216f;
        }
        return pixels;
    }

    private static int Main(string[] arguments)
    {
        try
        {
            Options options = Options.Parse(arguments);
            using (var engine = Engine.Open()) return new Serve(engine, options).Run() ? 0 : 1;
        }
        catch (FormatException error)
        {
            Console.Error.WriteLine(error.Message);
            return 2;
        }
        catch (DlcoreException error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
