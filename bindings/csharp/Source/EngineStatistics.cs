// SPDX-License-Identifier: Apache-2.0
namespace Dlcore
{
    /// <summary>What is alive on an engine at a moment, and how much memory it takes.</summary>
    public sealed class EngineStatistics
    {
        private readonly dlcore_engine_statistics raw;

        internal EngineStatistics(dlcore_engine_statistics raw)
        {
            this.raw = raw;
        }

        /// <summary>threads of the engine, the calling one included</summary>
        public int Threads => raw.threads;

        /// <summary>the instruction set in use</summary>
        public InstructionSet InstructionSet => (InstructionSet)raw.isa;

        /// <summary>tensors that somebody holds</summary>
        public long LiveTensors => raw.live_tensors;

        /// <summary>variables that somebody holds</summary>
        public long LiveVariables => raw.live_variables;

        /// <summary>modules that somebody holds</summary>
        public long LiveModules => raw.live_modules;

        /// <summary>optimizers that somebody holds</summary>
        public long LiveOptimizers => raw.live_optimizers;

        /// <summary>schedules that somebody holds</summary>
        public long LiveSchedules => raw.live_schedules;

        /// <summary>loaders that somebody holds</summary>
        public long LiveLoaders => raw.live_loaders;

        /// <summary>graphs that somebody holds</summary>
        public long LiveGraphs => raw.live_graphs;

        /// <summary>contexts that are open</summary>
        public long LiveContexts => raw.live_contexts;

        /// <summary>bytes of tensors, over all devices</summary>
        public ulong LiveBytes => raw.live_bytes;

        /// <summary>bytes kept for reuse</summary>
        public ulong CachedBytes => raw.cached_bytes;

        /// <summary>highest LiveBytes so far</summary>
        public ulong PeakBytes => raw.peak_bytes;

        /// <summary>blocks of memory handed out so far</summary>
        public ulong Allocations => raw.allocations;

        /// <summary>of those, how many the system was asked for</summary>
        public ulong SourceAllocations => raw.source_allocations;

        /// <summary>the limit that the engine was opened with; 0 for none</summary>
        public ulong MemoryLimit => raw.memory_limit;
    }
}
