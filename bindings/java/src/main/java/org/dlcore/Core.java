// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.dlcore.internal.Callbacks;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Native;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Reaper;
import org.dlcore.internal.Words;

/**
 * What a context consists of. One call at a time is inside: {@link #enter} lets it in. Everything
 * else here belongs to who is inside, so that no tensor is released while a call uses it. What
 * another thread wants meanwhile is put off to the next enter, or to the reaper.
 */
final class Core implements Reaper.Watched {
  static final System.Logger LOG = System.getLogger("org.dlcore");

  private static final int IDLE = 0;
  private static final int BUSY = 1; // with a call
  private static final int BRIEFLY = 2; // with what ends at once, on whatever thread
  private static final int CLOSED = 3;
  private static final int SCRATCH_WORDS = 512;

  final Engine engine;
  final TensorNet net = new TensorNet(this);
  Scope scope; // innermost

  private final AtomicInteger state = new AtomicInteger();
  private final boolean borrowed; // of a callback
  private final Set<Handle> owned = ConcurrentHashMap.newKeySet();
  private final ConcurrentLinkedQueue<Runnable> late = new ConcurrentLinkedQueue<>();
  private volatile boolean hasLate;
  private final Object life =
      new Object(); // a cancellation finds the context open, or does nothing
  private long pointer;

  private Thread user; // who is or was inside, for the reaper to see whether it is interrupted
  private int entries;
  private int entriesSeen;
  private volatile boolean cancelled; // by an interruption

  private Memory memory;
  private LongBuffer scratch;

  Core(Engine engine, long pointer, boolean borrowed) {
    this.engine = engine;
    this.pointer = pointer;
    this.borrowed = borrowed;
    if (!borrowed) {
      Reaper.watch(this, true);
    }
  }

  // ---- Entering

  /**
   * Lets the caller in, and returns the address of the context. Always followed by {@link #exit}.
   */
  long enter() {
    Thread thread = enterAlways();
    if (cancelled || thread.isInterrupted()) {
      refuseInterrupted(thread);
    }
    return pointer;
  }

  /** The same for what ends something, and has to work on a thread that is interrupted. */
  Thread enterAlways() {
    if (!state.compareAndSet(IDLE, BUSY)) {
      await();
    }
    Thread thread = Thread.currentThread();
    if (user != thread) {
      user = thread;
    }
    entries++;
    if (hasLate) {
      doLate();
      if (state.get() == CLOSED) {
        throw refusal();
      }
    }
    return thread;
  }

  void exit() {
    state.setRelease(IDLE);
  }

  private void await() {
    while (!state.compareAndSet(IDLE, BUSY)) {
      int now = state.get();
      if (now == BUSY || now == CLOSED) {
        throw refusal();
      }
      Thread.onSpinWait();
    }
  }

  private boolean tryEnter() {
    return state.compareAndSet(IDLE, BRIEFLY);
  }

  private DlcoreException refusal() {
    if (state.get() == CLOSED) {
      return new FailedPreconditionException("context: it is closed");
    }
    return new FailedPreconditionException(
        user == Thread.currentThread()
            ? "context: a callback that it runs used it; use the callback's own context"
            : "context: another thread is inside a call on it; open a context for each thread");
  }

  private void refuseInterrupted(Thread thread) {
    if (cancelled) {
      forgetCancellation();
    }
    if (thread.isInterrupted()) {
      exit();
      throw new CancelledException("context: the thread was interrupted");
    }
  }

  /**
   * Runs it inside, now or, while another call is, after that; never once the context is closed.
   */
  void whenIdle(Runnable action) {
    if (isClosed()) {
      return;
    }
    late.add(action);
    hasLate = true;
    look();
  }

  private void doLate() {
    hasLate = false;
    for (Runnable action = late.poll(); action != null; action = late.poll()) {
      try {
        action.run();
      } catch (RuntimeException error) { // it is nobody's here, and must not keep others out
        warn("context: something that was put off failed: " + error.getMessage(), error);
      }
      if (state.get() == CLOSED) {
        return;
      }
    }
  }

  /** On the reaper's thread, and wherever there may be something to do. */
  @Override
  public void look() {
    if (hasLate && tryEnter()) {
      doLate();
      state.compareAndSet(BRIEFLY, IDLE); // unless it was closed
    }
    if (!cancelled && isHeldUp()) {
      synchronized (life) {
        cancelled = true; // first, so that whoever enters from now on forgets it
        if (isHeldUp()) {
          cancel();
        }
      }
    }
    entriesSeen = entries;
  }

  /** The call that was seen the last time still runs, and its thread has been interrupted. */
  private boolean isHeldUp() {
    Thread inside = user;
    return state.get() == BUSY
        && entries == entriesSeen
        && inside != null
        && inside.isInterrupted();
  }

  void cancel() {
    synchronized (life) {
      if (pointer != 0) {
        Raw.dlcore_context_cancel(pointer);
      }
    }
  }

  /**
   * A cancellation that came when the interrupted call had just ended must not hit the next one.
   */
  private void forgetCancellation() {
    synchronized (life) {
      cancelled = false;
      Raw.dlcore_context_synchronize(pointer);
      Raw.dlcore_context_clear_error(pointer);
    }
  }

  // ---- Inside

  long pointer() {
    return pointer;
  }

  /** What made the last call fail. */
  DlcoreException failure() {
    long error = Raw.dlcore_context_take_error(pointer);
    if (error == 0) {
      return new FailedPreconditionException("context: a callback is inside a call on it");
    }
    return taken(error, Callbacks.takeThrown());
  }

  /** Takes over an error and everything that led to it. */
  static DlcoreException taken(long error, Throwable thrown) {
    try {
      return converted(error, thrown);
    } finally {
      Raw.dlcore_error_release(error);
    }
  }

  private static DlcoreException converted(long error, Throwable thrown) {
    long cause = Raw.dlcore_error_cause(error);
    return Errors.of(
        Raw.dlcore_error_code(error),
        Raw.dlcore_error_message(error),
        Raw.dlcore_error_op(error),
        cause == 0 ? thrown : converted(cause, thrown));
  }

  /** Writes packed attributes where a call finds them. */
  long attributes(Words words) {
    return words == null ? 0 : longs(words.array(), words.count(), 0);
  }

  static int count(Words words) {
    return words == null ? 0 : words.count();
  }

  /**
   * Writes integers or addresses to the scratch memory, from word `at` on; returns their address.
   */
  long longs(long[] values, int count, int at) {
    reserve(at + count);
    scratch.put(at, values, 0, count);
    return memory.address() + 8L * at;
  }

  /** Room in the scratch memory, which keeps what it holds. */
  long reserve(int words) {
    if (scratch == null || scratch.capacity() < words) {
      Memory larger = new Memory(8L * Math.max(SCRATCH_WORDS, 2L * words));
      LongBuffer view = larger.buffer().asLongBuffer();
      if (scratch != null) {
        view.put(0, scratch, 0, scratch.capacity());
        memory.close();
      }
      memory = larger;
      scratch = view;
    }
    return memory.address();
  }

  long word(int at) {
    return scratch.get(at);
  }

  /** The scratch memory as bytes. */
  ByteBuffer bytes(int size) {
    reserve((size + 7) / 8);
    return memory.buffer().order(ByteOrder.nativeOrder());
  }

  // ---- What it owns

  /** A handle that is closed with the context at the latest. */
  Handle own(Handle.Kind kind, long made) {
    Handle[] self = new Handle[1];
    Handle handle = new Handle(kind, made, () -> owned.remove(self[0]));
    self[0] = handle;
    owned.add(handle);
    return handle;
  }

  void track(Tensor tensor) {
    if (scope != null) {
      scope.add(tensor);
    } else {
      net.add(tensor);
    }
  }

  /** Releases a tensor, inside. */
  void release(Tensor tensor) {
    long handle = tensor.handle;
    if (handle == 0) {
      return;
    }
    tensor.handle = 0;
    untrack(tensor);
    Native.release(handle);
  }

  void untrack(Tensor tensor) {
    if (tensor.scope != null) {
      tensor.scope.remove(tensor);
    } else {
      net.remove(tensor);
    }
  }

  /** Another reference to what a tensor of this context refers to, for any thread. */
  long retained(Tensor tensor) {
    boolean within = user == Thread.currentThread() && state.get() == BUSY; // in a callback
    while (!within && !tryEnter()) {
      if (isClosed()) {
        throw refusal();
      }
      LockSupport.parkNanos(20_000);
    }
    try {
      if (tensor.handle == 0) {
        throw new FailedPreconditionException("tensor: it is closed");
      }
      Raw.dlcore_tensor_retain(tensor.handle);
      return tensor.handle;
    } finally {
      if (!within) {
        exit();
      }
    }
  }

  void close(Tensor tensor) {
    if (tryEnter()) {
      try {
        release(tensor);
      } finally {
        exit();
      }
    } else if (state.get() != CLOSED) {
      whenIdle(() -> release(tensor));
    }
  }

  boolean isClosed() {
    return state.get() == CLOSED;
  }

  void close() {
    if (!isClosed()) {
      whenIdle(this::end);
    }
  }

  private void end() {
    while (scope != null) {
      scope.end();
    }
    net.end();
    for (Handle handle : owned) {
      handle.close();
    }
    if (memory != null) {
      memory.close();
    }
    synchronized (life) {
      if (!borrowed) {
        Raw.dlcore_context_close(pointer);
      }
      pointer = 0;
    }
    Reaper.watch(this, false);
    state.set(CLOSED);
  }

  static void warn(String message, Throwable cause) {
    LOG.log(Level.WARNING, message, cause);
  }
}
