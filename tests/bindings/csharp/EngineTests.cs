// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

namespace Dlcore.Tests
{
    internal static class EngineTests
    {
        public static void EnginesTellAboutThemselves(Engine engine)
        {
            Check.Same(engine.Devices, new[] { "cpu" });
            Check.Equal(engine.Statistics.Threads, 2);
            Check.That(Engine.Version >= 1000 && Engine.BuildInfo.Length > 0, "version");
            Check.That(Engine.Catalogue.Contains("\"softmax\""), "catalogue");
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Full(new long[] { 1000 }, 1);
                Check.That(engine.Statistics.LiveBytes >= 4000 && engine.Statistics.LiveTensors == 1, "statistics");
                Check.Equal(dl.HasKernel(dl.FindOp("add"), DType.F32), true);
                Check.Equal(dl.OpName(-5), null);
                Check.Equal(x.Device, "cpu");
                Check.Equal(x.To("cpu").Sum().ToSingle(), 1000f);
                Check.Throws<NotFoundException>(() => x.To("nowhere"));
            }
            engine.Trim();
            using (var baseline = Engine.Open(new EngineOptions { InstructionSet = InstructionSet.Baseline, Threads = 1 }))
            {
                Check.Equal(baseline.Statistics.InstructionSet, InstructionSet.Baseline);
            }
        }

        public static void MemoryOfTheProgramsOwn(Engine engine)
        {
            var allocator = new Counting();
            using (var own = Engine.Open(new EngineOptions { Threads = 1 }, allocator))
            using (var dl = own.Context())
            {
                Check.Equal(dl.Full(new long[] { 1000 }, 2).Sum().ToSingle(), 2000f);
                Check.That(allocator.Live > 0, "memory was asked for");
                allocator.Refuses = true;
                Check.Throws<ResourceExhaustedException>(() => dl.Full(new long[] { 1 << 20 }, 2));
            }
            Check.Equal(allocator.Live, 0, "blocks at the end");
        }

        private sealed class Counting : IAllocator
        {
            internal int Live;
            internal bool Refuses;

            public IntPtr Allocate(long bytes, long alignment)
            {
                if (Refuses) throw new OutOfMemoryException();
                Interlocked.Increment(ref Live);
                IntPtr raw = Marshal.AllocHGlobal(new IntPtr(bytes + 2 * alignment));
                long aligned = (raw.ToInt64() + 2 * alignment - 1) / alignment * alignment;
                Marshal.WriteIntPtr(new IntPtr(aligned - 8), raw);
                return new IntPtr(aligned);
            }

            public void Deallocate(IntPtr address, long bytes)
            {
                Marshal.FreeHGlobal(Marshal.ReadIntPtr(new IntPtr(address.ToInt64() - 8)));
                Interlocked.Decrement(ref Live);
            }
        }

        public static void LogRecordsAreTold(Engine engine)
        {
            var records = new List<LogRecord>();
            Action<LogRecord> listener = record =>
            {
                lock (records) records.Add(record);
            };
            engine.Log(LogLevel.Information, "tests", "before");
            engine.Logged += listener;
            engine.Log(LogLevel.Debug, "tests", "dropped");
            engine.SetLogLevel(LogLevel.Debug);
            engine.Log(LogLevel.Debug, "tests", "smile \U0001F642");
            engine.Log(LogLevel.Error, "tests", "last");
            for (int wait = 0; wait < 200 && records.Count < 3; ++wait) Thread.Sleep(10);
            engine.Logged -= listener;
            engine.Log(LogLevel.Error, "tests", "nobody listens");
            Check.Same(records.Select(record => $"{record.Level} {record.Source} {record.Message}").ToArray(),
                       new[] { "Information tests before", "Debug tests smile \U0001F642", "Error tests last" });
            Check.That(Math.Abs((DateTime.UtcNow - records[2].Time).TotalMinutes) < 5, "time");
        }

        public static void ElementsCrossByDlpack(Engine engine)
        {
            using (var dl = engine.Context())
            using (dl.Scope())
            {
                Tensor x = dl.Tensor(new float[] { 1, 2, 3, 4, 5, 6 }, 2, 3), view = x.PermuteDims(1, 0);
                foreach (DlpackFlags export in new[] { DlpackFlags.None, DlpackFlags.Copy, DlpackFlags.Contiguous })
                {
                    foreach (DlpackFlags import in new[] { DlpackFlags.None, DlpackFlags.Borrow })
                    {
                        Tensor back = dl.FromDlpack(view.ToDlpack(export), import);
                        Check.Same(back.Shape, new long[] { 3, 2 });
                        Check.Same(back.ToArray<float>(), new float[] { 1, 4, 2, 5, 3, 6 });
                    }
                }
                Check.Same(dl.FromDlpack(x.ToDlpack(DlpackFlags.Unversioned), DlpackFlags.Unversioned).ToArray<float>(),
                    x.ToArray<float>());
                Check.Throws<InvalidArgumentException>(() => dl.FromDlpack(IntPtr.Zero));
                Check.Throws<InvalidArgumentException>(() => x.ToDlpack((DlpackFlags)1024));
            }
        }

        public static void ManyThreadsEachWithAContext(Engine engine)
        {
            GraphTests.Parallel(32, i =>
            {
                using (var dl = engine.Context(seed: 7))
                {
                    for (int n = 0; n < 20; ++n)
                    {
                        using (dl.Scope())
                        {
                            Tensor x = dl.Full(new long[] { 16, 16 }, i);
                            Check.Equal((x.Matmul(x).Sum() / 4096).ToSingle(), (float)(i * i));
                        }
                    }
                }
            });
        }

        public static void AContextMovesBetweenThreads(Engine engine)
        {
            using (var dl = engine.Context())
            {
                Tensor x = dl.Scalar(0f);
                for (int i = 0; i < 20; ++i)
                {
                    var thread = new Thread(() => x = x + 1);
                    thread.Start();
                    thread.Join();
                }
                Check.Equal(x.ToSingle(), 20f);
            }
        }
    }
}
