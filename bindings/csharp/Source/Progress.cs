// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;

namespace Dlcore
{
    /// <summary>A loop over a loader that shows how far it is: a bar on a terminal, a line at the end elsewhere.</summary>
    public sealed class Progress : IEnumerable<ValueTuple<Tensor, Tensor>>
    {
        private const int Width = 24;
        private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(100);
        private readonly Loader loader;
        private readonly string title;

        private Progress(Loader loader, string title)
        {
            this.loader = loader;
            this.title = title;
        }

        /// <summary>Text to show behind the bar, such as the loss.</summary>
        public string Note { get; set; } = "";

        /// <summary>The same turns as those of the loader.</summary>
        /// <param name="loader">what the loop is over</param>
        /// <param name="title">what stands in front of the bar</param>
        /// <returns>the loop</returns>
        public static Progress Of(Loader loader, string title)
        {
            if (loader == null) throw new ArgumentNullException(nameof(loader));
            return new Progress(loader, title);
        }

        /// <summary>The rest of the epoch.</summary>
        /// <returns>the turns of a loop</returns>
        public IEnumerator<ValueTuple<Tensor, Tensor>> GetEnumerator()
        {
            bool terminal = !Console.IsOutputRedirected;
            long done = 0, total = loader.Samples;
            TimeSpan shown = TimeSpan.Zero;
            var watch = Stopwatch.StartNew();
            try
            {
                foreach ((Tensor, Tensor) batch in loader)
                {
                    done += batch.Item1.Dim(0);
                    yield return batch;
                    if (!terminal || watch.Elapsed - shown < Interval) continue;
                    shown = watch.Elapsed;
                    Show(done, total, watch.Elapsed.TotalSeconds);
                }
            }
            finally
            {
                double seconds = watch.Elapsed.TotalSeconds;
                if (terminal) Console.Write("\r\u001b[K");
                if (done != 0) Console.WriteLine($"{title}  {Note}  {done / (seconds + 1e-9):F0} samples/s  {seconds:F1} s");
            }
        }

        /// <inheritdoc/>
        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        private void Show(long done, long total, double seconds)
        {
            double rate = done / (seconds + 1e-9), left = (total - done) / (rate + 1e-9);
            int filled = total > 0 ? (int)(Width * done / total) : Width;
            string bar = new string('=', Math.Min(filled, Width)).PadRight(Width);
            long percent = total > 0 ? 100 * done / total : 100;
            Console.Write($"\r{title} [{bar}] {percent,3}%  {rate,7:F0} samples/s  {Note}  {left,3:F0} s left ");
        }
    }
}
