// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Layout;
import org.dlcore.internal.Library;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Reaper;

/**
 * The owner of devices, memory and threads. A process opens one, for all of its threads; each of
 * them opens a {@link Context} of its own on it.
 */
public final class Engine implements AutoCloseable {
  static {
    Library.load();
  }

  private final Handle handle;
  private final EngineLog log = new EngineLog();

  private Engine(Handle.Kind kind, long pointer) {
    handle = new Handle(kind, pointer, log::end);
    log.begin(handle);
    Reaper.guard(this, handle);
  }

  /** What an engine may use. */
  public static final class Options {
    private int threads;
    private long memoryLimit;
    private InstructionSet instructionSet = InstructionSet.BEST;

    private Options() {}

    /**
     * Sets how many threads compute, including the calling one.
     *
     * @param value a number; 0: as many as this process may use
     * @return these options
     */
    public Options threads(int value) {
      threads = value;
      return this;
    }

    /**
     * Sets how much memory the tensors of each device may take.
     *
     * @param bytes a number; 0: no limit
     * @return these options
     */
    public Options memoryLimit(long bytes) {
      memoryLimit = bytes;
      return this;
    }

    /**
     * Pins the instruction set, and with it the engine's own matrix kernels.
     *
     * @param value one that this processor has
     * @return these options
     */
    public Options instructionSet(InstructionSet value) {
      instructionSet = value;
      return this;
    }
  }

  /** Instruction sets that an engine may be pinned to. Equal bits are promised for one of them. */
  public enum InstructionSet {
    /** The best one that this processor has and the library was built for. */
    BEST(Raw.DLCORE_ISA_BEST),
    /** The least that the library needs. */
    BASELINE(Raw.DLCORE_ISA_BASELINE),
    /** AVX2. */
    AVX2(Raw.DLCORE_ISA_AVX2),
    /** AVX-512. */
    AVX512(Raw.DLCORE_ISA_AVX512),
    /** AVX-512 that multiplies matrices of bf16 by its dot products. */
    AVX512_BF16(Raw.DLCORE_ISA_AVX512_BF16);

    private final int number;

    InstructionSet(int number) {
      this.number = number;
    }
  }

  /**
   * Options with every default.
   *
   * @return new options
   */
  public static Options options() {
    return new Options();
  }

  /**
   * Opens an engine with the defaults.
   *
   * @return the engine
   */
  public static Engine open() {
    return open(options());
  }

  /**
   * Opens an engine.
   *
   * @param options what it may use
   * @return the engine
   */
  public static Engine open(Options options) {
    try (Memory memory = new Memory(Layout.EngineOptions.SIZE + 8)) {
      var record = memory.buffer();
      Raw.dlcore_engine_options_init(memory.address(), Layout.EngineOptions.SIZE);
      record.putInt(Layout.EngineOptions.THREADS, options.threads);
      record.putLong(Layout.EngineOptions.MEMORY_LIMIT, options.memoryLimit);
      record.putInt(Layout.EngineOptions.ISA, options.instructionSet.number);
      record.putLong(Layout.EngineOptions.SIZE, 0);
      long error = memory.address() + Layout.EngineOptions.SIZE;
      long pointer = Raw.dlcore_engine_open(memory.address(), error);
      if (pointer == 0) {
        throw Core.taken(record.getLong(Layout.EngineOptions.SIZE), null);
      }
      return new Engine(Handle.Kind.ENGINE, pointer);
    }
  }

  /**
   * Shares an engine that another binding opened in this process, whose tensors and custom ops this
   * one then sees.
   *
   * @param address the address of its {@code dlcore_engine}
   * @return an engine to be closed like another one; whoever opened it still has it then
   */
  public static Engine adopt(long address) {
    if (address == 0) {
      throw new InvalidArgumentException("adopt: there is no engine at address 0");
    }
    Raw.dlcore_engine_retain(address);
    return new Engine(Handle.Kind.SHARED_ENGINE, address);
  }

  /**
   * Where the engine is, for another binding to adopt.
   *
   * @return the address of its {@code dlcore_engine}
   */
  public long address() {
    long self = handle.acquire();
    handle.release();
    return self;
  }

  /**
   * Opens a context with the seed 0.
   *
   * @param device a name like {@code cpu}
   * @return the context
   */
  public Context context(String device) {
    return context(device, 0);
  }

  /**
   * Opens a context for one thread of work.
   *
   * @param device a name like {@code cpu}
   * @param seed decides every random number and initial parameter drawn through it
   * @return the context
   */
  public Context context(String device, long seed) {
    return new Context(core(device, seed), false);
  }

  Core core(String device, long seed) {
    long self = handle.acquire();
    try (Memory memory = Memory.of(0)) {
      long pointer =
          Raw.dlcore_context_open(self, device, seed, Raw.DLCORE_CONTEXT_MANUAL, memory.address());
      if (pointer == 0) {
        throw Core.taken(memory.longs()[0], null);
      }
      return new Core(this, pointer, false);
    } finally {
      handle.release();
    }
  }

  /**
   * Loads a plug-in, which stays loaded until the process ends.
   *
   * @param path a shared object that adds devices
   */
  public void loadPlugin(Path path) {
    long self = handle.acquire();
    try (Memory memory = Memory.of(0)) {
      if (Raw.dlcore_engine_load_plugin(self, path.toString(), memory.address()) != 0) {
        throw Core.taken(memory.longs()[0], null);
      }
    } finally {
      handle.release();
    }
  }

  /**
   * The devices there are.
   *
   * @return their names, {@code cpu} first
   */
  public List<String> devices() {
    long self = handle.acquire();
    try {
      List<String> names = new ArrayList<>();
      for (long i = 0; i < Raw.dlcore_engine_device_count(self); i++) {
        names.add(Raw.dlcore_engine_device_name(self, i));
      }
      return names;
    } finally {
      handle.release();
    }
  }

  /**
   * What it holds and does at this moment.
   *
   * @return the numbers
   */
  public Statistics statistics() {
    long self = handle.acquire();
    try (Memory memory = new Memory(Layout.EngineStatistics.SIZE)) {
      var record = memory.buffer();
      record.putInt(Layout.EngineStatistics.STRUCT_SIZE, Layout.EngineStatistics.SIZE);
      if (Raw.dlcore_engine_get_statistics(self, memory.address()) != 0) {
        throw new FailedPreconditionException("statistics: the engine does not answer");
      }
      return new Statistics(record);
    } finally {
      handle.release();
    }
  }

  /** Gives cached memory back to the system. */
  public void trim() {
    long self = handle.acquire();
    try {
      Raw.dlcore_engine_trim(self);
    } finally {
      handle.release();
    }
  }

  /**
   * Says which records of the engine are kept for the logger {@code org.dlcore}.
   *
   * @param level the least level; INFO at first
   */
  public void logLevel(System.Logger.Level level) {
    long self = handle.acquire();
    try {
      Raw.dlcore_engine_set_log_level(self, EngineLog.number(level));
    } finally {
      handle.release();
    }
  }

  /**
   * For tests of a program's handling of {@link ResourceExhaustedException}: makes one allocation
   * of tensor memory fail.
   *
   * @param n the n-th from now on; 0 switches it off
   */
  public void failAllocation(long n) {
    long self = handle.acquire();
    try {
      Raw.dlcore_engine_fail_allocation(self, n);
    } finally {
      handle.release();
    }
  }

  /**
   * Whether it was closed.
   *
   * @return true after {@link #close}
   */
  public boolean isClosed() {
    return handle.isClosed();
  }

  /**
   * Ends its threads. What is still held can be read and closed; whatever else it is asked for
   * fails. Closing it again does nothing.
   */
  @Override
  public void close() {
    log.look();
    handle.close();
  }
}
