// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Threading;

namespace Dlcore
{
    /// <summary>How serious a record is. The numbers are those of Microsoft.Extensions.Logging.LogLevel.</summary>
    public enum LogLevel
    {
        /// <summary>for those who look for a fault</summary>
        Debug = 1,
        /// <summary>worth knowing</summary>
        Information = 2,
        /// <summary>probably not what was wanted</summary>
        Warning = 3,
        /// <summary>a failure that no call could report</summary>
        Error = 4,
    }

    /// <summary>What an engine, a plug-in or a binding has to say that is no error of a call.</summary>
    public sealed class LogRecord
    {
        internal LogRecord(LogLevel level, DateTime time, long lost, string source, string message)
        {
            Level = level;
            Time = time;
            Lost = lost;
            Source = source;
            Message = message;
        }

        /// <summary>How serious it is.</summary>
        public LogLevel Level { get; }

        /// <summary>When it was said, in UTC.</summary>
        public DateTime Time { get; }

        /// <summary>How many records were lost just before it, because nobody took them in time.</summary>
        public long Lost { get; }

        /// <summary>Who speaks.</summary>
        public string Source { get; }

        /// <summary>One line.</summary>
        public string Message { get; }
    }

    /// <summary>Takes the records of an engine on a thread of its own, from the first listener to the last.</summary>
    internal sealed unsafe class LogReader
    {
        private const int SliceMilliseconds = 50; // the longest that closing the engine waits for the thread
        private const int LevelStep = 10; // between two levels of the library
        private static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        private readonly NativeHandle engine;
        private readonly object gate = new object();
        private Action<LogRecord> listeners;
        private Thread thread;

        internal LogReader(NativeHandle engine)
        {
            this.engine = engine;
        }

        internal static int Native(LogLevel level) => (int)level * LevelStep;

        internal void Add(Action<LogRecord> listener)
        {
            lock (gate)
            {
                listeners += listener;
                if (thread != null || listeners == null) return;
                thread = new Thread(Run) { IsBackground = true, Name = "dlcore log" };
                thread.Start();
            }
        }

        internal void Remove(Action<LogRecord> listener)
        {
            lock (gate) listeners -= listener;
        }

        /// <summary>Ends the thread, after it has told what is waiting.</summary>
        internal void Stop()
        {
            Thread running;
            lock (gate)
            {
                running = thread;
                thread = null;
            }
            if (running != null && running != Thread.CurrentThread) running.Join();
        }

        private void Run()
        {
            for (bool more = true; more;)
            {
                lock (gate)
                {
                    more = thread == Thread.CurrentThread && listeners != null;
                    if (!more && thread == Thread.CurrentThread) thread = null;
                }
                for (LogRecord record = Next(more ? SliceMilliseconds : 0); record != null; record = Next(0))
                {
                    Tell(record);
                }
            }
        }

        private void Tell(LogRecord record)
        {
            try
            {
                Volatile.Read(ref listeners)?.Invoke(record);
            }
            catch (Exception)
            {
                // A logger that fails must not end the program from a thread that the program did not start.
            }
        }

        private LogRecord Next(long milliseconds)
        {
            IntPtr handle;
            try
            {
                handle = engine.Acquire(nameof(Engine));
            }
            catch (ObjectDisposedException)
            {
                return null;
            }
            try
            {
                var raw = new dlcore_log_record { struct_size = (uint)sizeof(dlcore_log_record) };
                if (Raw.dlcore_engine_next_log(handle, &raw, milliseconds) != 1) return null;
                return new LogRecord((LogLevel)(raw.level / LevelStep), Epoch.AddTicks(raw.time / 100), raw.lost,
                                     Text.From(raw.source), Text.From(raw.message));
            }
            finally
            {
                engine.DangerousRelease();
            }
        }
    }

    public sealed unsafe partial class Context
    {
        private bool warned;

        /// <summary>Once, for a program that forgot its scopes: tells the line that makes the tensors.</summary>
        internal void WarnOfMany(int live)
        {
            if (warned) return;
            warned = true;
            string line = "";
            foreach (StackFrame frame in new StackTrace(true).GetFrames() ?? new StackFrame[0])
            {
                Type type = frame.GetMethod()?.DeclaringType;
                if (type == null || type.Assembly == typeof(Context).Assembly) continue;
                string file = frame.GetFileName();
                line = $" at {type.FullName}.{frame.GetMethod().Name}" + (file == null ? "" : $" ({file}:{frame.GetFileLineNumber()})");
                break;
            }
            Engine.Log(LogLevel.Warning, "csharp",
                $"{live} tensors outside scopes are alive, more are made{line}; open a scope, or dispose of them");
        }
    }
}
