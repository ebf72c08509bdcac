// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Threading;

namespace Dlcore.Tests
{
    internal static class CancelTests
    {
        public static void ATokenStopsAnotherThreadsWork(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            using (var source = new CancellationTokenSource())
            {
                Tensor x = dl.Full(new long[] { 400, 400 }, 0.5);
                source.CancelAfter(30);
                using (dl.CancelWith(source.Token))
                {
                    var error = Check.Throws<OperationCanceledException>(() => Work(dl, x));
                    Check.Equal(error.CancellationToken, source.Token);
                    Check.That(error.InnerException is CancelledException, "the cause");
                }
                Check.Equal(x.Sum().Count, 1L, "elements after the cancellation");
            }
        }

        public static void ALateCancellationHitsNothingElse(Engine engine)
        {
            using (var dl = engine.Context())
            using (var source = new CancellationTokenSource())
            {
                IDisposable heed = dl.CancelWith(source.Token);
                source.Cancel();
                heed.Dispose();
                heed.Dispose();
                Check.Equal(dl.Scalar(2f).Square().ToSingle(), 4f);
                using (dl.CancelWith(source.Token)) Check.Throws<OperationCanceledException>(() => dl.Scalar(1f));
                using (dl.CancelWith(CancellationToken.None)) Check.Equal(dl.Scalar(2f).Square().ToSingle(), 4f);
            }
        }

        public static void CancelFromAnotherThread(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Full(new long[] { 400, 400 }, 0.5);
                var thread = new Thread(() =>
                {
                    Thread.Sleep(20);
                    dl.Cancel();
                });
                thread.Start();
                Check.Throws<CancelledException>(() => Work(dl, x), "cancelled");
                thread.Join();
                Check.Equal(x.Sum().Count, 1L, "elements after the cancellation");
            }
        }

        public static void ADeadlinePasses(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Full(new long[] { 400, 400 }, 0.5);
                using (dl.Deadline(TimeSpan.FromMilliseconds(20))) Check.Throws<DeadlineExceededException>(() => Work(dl, x));
                Check.Equal(x.Sum().Count, 1L, "elements after the deadline");
                using (dl.Deadline(TimeSpan.FromMilliseconds(1))) Thread.Sleep(20); // passes without a call that meets it
                using (dl.Deadline(TimeSpan.FromMinutes(1))) Check.Equal(x.Sum().Count, 1L);
            }
        }

        private static void Work(Context dl, Tensor x)
        {
            for (var watch = Stopwatch.StartNew(); watch.Elapsed.TotalSeconds < 30;)
            {
                using (dl.Scope()) x.Matmul(x);
            }
        }
    }
}
