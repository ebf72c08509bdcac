// SPDX-License-Identifier: Apache-2.0
using System;

namespace Dlcore
{
    /// <summary>Instruction sets that an engine may be pinned to. Equal bits are promised for one instruction set.</summary>
    public enum InstructionSet
    {
        /// <summary>the best one of this processor</summary>
        Best = Raw.DLCORE_ISA_BEST,
        /// <summary>what every processor of the architecture has</summary>
        Baseline = Raw.DLCORE_ISA_BASELINE,
        /// <summary>AVX2</summary>
        Avx2 = Raw.DLCORE_ISA_AVX2,
        /// <summary>AVX-512</summary>
        Avx512 = Raw.DLCORE_ISA_AVX512,
        /// <summary>AVX-512 that multiplies matrices of bf16 by its dot products</summary>
        Avx512Bf16 = Raw.DLCORE_ISA_AVX512_BF16,
    }

    /// <summary>What an engine is opened with.</summary>
    public sealed class EngineOptions
    {
        /// <summary>threads including the calling one; 0: as many as this process may use</summary>
        public int Threads { get; set; }

        /// <summary>most bytes of tensors on each device; 0: no limit</summary>
        public ulong MemoryLimit { get; set; }

        /// <summary>the instruction set to keep to</summary>
        public InstructionSet InstructionSet { get; set; }
    }

    /// <summary>Owner of all that costs something: devices, memory, threads, plug-ins. A process opens one, usually, and
    /// uses it from any number of threads.</summary>
    public sealed unsafe class Engine : IDisposable
    {
        private static readonly Action<IntPtr> Close = Raw.dlcore_engine_close;
        private static readonly Action<IntPtr> GiveBack = Raw.dlcore_engine_release;
        private readonly NativeHandle native;
        private readonly LogReader log;

        private Engine(IntPtr handle, Action<IntPtr> release)
        {
            native = new NativeHandle(handle, release);
            log = new LogReader(native);
        }

        /// <summary>What the engine has to say that is no error of a call. It is told on a thread of the engine's own; an
        /// engine's records go to one binding of a process.</summary>
        public event Action<LogRecord> Logged
        {
            add => log.Add(value);
            remove => log.Remove(value);
        }

        /// <summary>The library's own description: version, compiler, what was left out.</summary>
        public static string BuildInfo => Text.From(Raw.dlcore_build_info());

        /// <summary>Version of the library, as major * 1000000 + minor * 1000 + patch.</summary>
        public static int Version => Raw.dlcore_version();

        /// <summary>All ops, layers and optimizers as JSON: names, numbers, documentation, attributes, dtypes.</summary>
        public static string Catalogue => Text.From(Raw.dlcore_catalogue_json(null));

        /// <summary>Address of the native engine, for another binding in this process to adopt.</summary>
        public IntPtr Handle => Use(handle => handle);

        /// <summary>Names of the devices; the first is "cpu".</summary>
        public string[] Devices => Use(handle =>
        {
            var names = new string[Raw.dlcore_engine_device_count(handle)];
            for (int i = 0; i < names.Length; ++i) names[i] = Text.From(Raw.dlcore_engine_device_name(handle, i));
            return names;
        });

        /// <summary>What is alive and how much memory it takes.</summary>
        public EngineStatistics Statistics => Use(handle =>
        {
            var raw = new dlcore_engine_statistics { struct_size = (uint)sizeof(dlcore_engine_statistics) };
            Raw.dlcore_engine_get_statistics(handle, &raw);
            return new EngineStatistics(raw);
        });

        /// <summary>Opens an engine with the CPU device.</summary>
        /// <param name="options">threads, limits; null for the defaults</param>
        /// <returns>the engine, to be disposed of</returns>
        public static Engine Open(EngineOptions options = null) => Open(options, null);

        /// <summary>Opens an engine whose tensors on the CPU lie in memory of the program's.</summary>
        /// <param name="options">threads, limits; null for the defaults</param>
        /// <param name="allocator">where memory comes from; null for the system</param>
        /// <returns>the engine, to be disposed of</returns>
        public static Engine Open(EngineOptions options, IAllocator allocator)
        {
            if (Raw.dlcore_require(Raw.DLCORE_VERSION) == 0)
            {
                throw new FailedPreconditionException(
                    "engine_open: the library does not serve this package: " +
                    $"its version is {Version}, expected {Raw.DLCORE_VERSION} or a compatible later one");
            }
            options = options ?? new EngineOptions();
            dlcore_engine_options raw;
            Raw.dlcore_engine_options_init(&raw, (ulong)sizeof(dlcore_engine_options));
            raw.threads = options.Threads;
            raw.memory_limit = options.MemoryLimit;
            raw.isa = (int)options.InstructionSet;
            IntPtr error = IntPtr.Zero;
            IntPtr handle = allocator == null ? Raw.dlcore_engine_open(&raw, &error) : Allocators.Open(&raw, allocator, &error);
            if (handle == IntPtr.Zero) throw DlcoreException.Take(error, "engine_open");
            return new Engine(handle, Close);
        }

        /// <summary>An engine that another binding opened in this process. Disposing of it gives back a reference and
        /// leaves the engine open.</summary>
        /// <param name="handle">address of the native engine, which stays its owner's</param>
        /// <returns>the same engine</returns>
        public static Engine Adopt(IntPtr handle)
        {
            if (handle == IntPtr.Zero || Raw.dlcore_engine_device_count(handle) < 1)
            {
                throw new InvalidArgumentException($"engine_adopt: no engine: handle is {handle.ToInt64()}, expected an open engine's");
            }
            Raw.dlcore_engine_retain(handle);
            return new Engine(handle, GiveBack);
        }

        /// <summary>A context on this engine; give each worker its own.</summary>
        /// <param name="device">its device</param>
        /// <param name="seed">decides every random number and initial parameter</param>
        /// <param name="inference">whether it opens in inference mode</param>
        /// <returns>the context, to be disposed of</returns>
        public Context Context(string device = "cpu", ulong seed = 0, bool inference = false) =>
            new Context(this, device, seed, inference, ownsEngine: false);

        /// <summary>Loads a plug-in, which stays loaded until the process ends.</summary>
        /// <param name="path">of the shared object</param>
        public void LoadPlugin(string path)
        {
            byte[] bytes = Text.Needed(path, nameof(path));
            Use(handle =>
            {
                fixed (byte* text = bytes)
                {
                    IntPtr error = IntPtr.Zero;
                    if (Raw.dlcore_engine_load_plugin(handle, text, &error) != 0) throw DlcoreException.Take(error, "engine_load_plugin");
                }
                return 0;
            });
        }

        /// <summary>Gives cached memory back to the system.</summary>
        public void Trim() => Use(handle =>
        {
            Raw.dlcore_engine_trim(handle);
            return 0;
        });

        /// <summary>Makes an allocation of tensor memory fail once, to test how a program bears it.</summary>
        /// <param name="n">which one from now on; 1 is the next, 0 none</param>
        public void FailAllocation(long n) => Use(handle =>
        {
            Raw.dlcore_engine_fail_allocation(handle, n);
            return 0;
        });

        /// <summary>Hands records to a logger of whatever kind: LogTo((level, source, message) => logger.Log((LogLevel)level,
        /// "{source}: {message}", source, message)).</summary>
        /// <param name="write">takes level, source and message; on a thread of the engine's own</param>
        /// <returns>what ends it</returns>
        public IDisposable LogTo(Action<LogLevel, string, string> write)
        {
            if (write == null) throw new ArgumentNullException(nameof(write));
            Action<LogRecord> listener = record => write(record.Level, record.Source, record.Message);
            Logged += listener;
            return new Restore(() => Logged -= listener);
        }

        /// <summary>Adds a record.</summary>
        /// <param name="level">how serious it is</param>
        /// <param name="source">who speaks</param>
        /// <param name="message">one line</param>
        public void Log(LogLevel level, string source, string message)
        {
            Use(handle =>
            {
                fixed (byte* from = Text.Lossy(source), text = Text.Lossy(message))
                {
                    return Raw.dlcore_engine_log(handle, LogReader.Native(level), from, text);
                }
            });
        }

        /// <summary>Drops records below a level; at first those below Information.</summary>
        /// <param name="level">the lowest to keep</param>
        public void SetLogLevel(LogLevel level) => Use(handle => Raw.dlcore_engine_set_log_level(handle, LogReader.Native(level)));

        /// <summary>Stops the engine. What is still held can be released; execution fails from now on.</summary>
        public void Dispose()
        {
            log.Stop();
            native.Dispose();
        }

        internal T Use<T>(Func<IntPtr, T> call)
        {
            IntPtr handle = native.Acquire(nameof(Engine));
            try
            {
                return call(handle);
            }
            finally
            {
                native.DangerousRelease();
            }
        }
    }
}
