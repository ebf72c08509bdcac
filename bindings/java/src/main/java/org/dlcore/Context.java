// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Library;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Reaper;

/**
 * The execution state of one thread of work: device, random numbers, modes, scopes. It serves one
 * call at a time; each thread opens its own. Closing it closes everything that was made on it.
 */
public final class Context extends ContextTransforms implements AutoCloseable {
  static {
    Library.load();
    Calls.install();
  }

  private final Engine own; // opened with this context, and closed with it
  private final Data data = new Data(this);
  private final Net net;
  Map<Handle, Long>
      standIns; // in a forward of a snapshot: what a resource of the program stands for

  /** Closes what a lost context consists of. */
  private static final class Net extends Reaper.Net {
    private final Core core;

    Net(Context context) {
      super(context);
      core = context.core;
    }

    @Override
    protected void caught() {
      Reaper.keep(this, false);
      core.close();
    }
  }

  Context(Core core, boolean ownsEngine) {
    super(core);
    own = ownsEngine ? core.engine : null;
    net = new Net(this);
    Reaper.keep(net, true);
  }

  @Override
  Context context() {
    return this;
  }

  /**
   * Opens an engine with the defaults and a context on it, with the seed 0.
   *
   * @param device a name like {@code cpu}
   * @return a context that closes its engine when it is closed
   */
  public static Context open(String device) {
    return open(device, 0);
  }

  /**
   * Opens an engine with the defaults and a context on it.
   *
   * @param device a name like {@code cpu}
   * @param seed decides every random number and initial parameter
   * @return a context that closes its engine when it is closed
   */
  public static Context open(String device, long seed) {
    Engine engine = Engine.open();
    try {
      return new Context(engine.core(device, seed), true);
    } catch (RuntimeException error) {
      engine.close();
      throw error;
    }
  }

  /**
   * The engine it was opened on.
   *
   * @return the engine
   */
  public Engine engine() {
    return core.engine;
  }

  /**
   * The device that its ops run on.
   *
   * @return a name like {@code cpu}
   */
  public String device() {
    String[] name = new String[1];
    inside(ctx -> name[0] = Raw.dlcore_context_device(ctx));
    return name[0];
  }

  /**
   * Whether it was closed.
   *
   * @return true after {@link #close}
   */
  public boolean isClosed() {
    return core.isClosed();
  }

  /** Closes it and everything that was made on it, after the call that may be running. */
  @Override
  public void close() {
    Reaper.keep(net, false);
    core.close();
    if (own != null) {
      own.close();
    }
  }

  private interface Inside {
    void run(long ctx);
  }

  private void inside(Inside action) {
    Access.get()
        .value(
            this,
            null,
            (ctx, self) -> {
              action.run(ctx);
              return 0;
            });
  }

  /** Takes over a reference. */
  Tensor adopt(long handle) {
    core.enter();
    try {
      return made(handle);
    } finally {
      core.exit();
    }
  }

  // ---- Scopes, modes, cancellation

  /**
   * Opens a scope inside the innermost one: tensors that are made from now on belong to it.
   *
   * @return a scope to be closed
   */
  public Scope scope() {
    core.enter();
    try {
      core.scope = new Scope(this, core.scope);
      return core.scope;
    } finally {
      core.exit();
    }
  }

  /**
   * Keeps no history for gradients.
   *
   * @return a mode to be closed
   */
  public Mode noGrad() {
    return mode(true, false);
  }

  /**
   * Keeps no history, and layers behave as in use.
   *
   * @return a mode to be closed
   */
  public Mode inference() {
    return mode(true, true);
  }

  private Mode mode(boolean recording, boolean training) {
    int[] before = new int[2];
    inside(
        ctx -> {
          before[0] = recording ? Raw.dlcore_context_set_recording(ctx, 0) : -1;
          before[1] = training ? Raw.dlcore_context_set_training(ctx, 0) : -1;
        });
    return new Mode(
        () ->
            core.whenIdle(
                () -> {
                  if (before[0] >= 0) {
                    Raw.dlcore_context_set_recording(core.pointer(), before[0]);
                  }
                  if (before[1] >= 0) {
                    Raw.dlcore_context_set_training(core.pointer(), before[1]);
                  }
                }));
  }

  /**
   * Whether history for gradients is kept.
   *
   * @return true unless a mode switched it off
   */
  public boolean isRecording() {
    return Access.get().value(this, null, (ctx, self) -> Raw.dlcore_context_is_recording(ctx)) == 1;
  }

  /**
   * Whether layers behave as in training.
   *
   * @return true unless a mode switched it off
   */
  public boolean isTraining() {
    return Access.get().value(this, null, (ctx, self) -> Raw.dlcore_context_is_training(ctx)) == 1;
  }

  /**
   * From any thread: the call that runs, or else the next one, fails with {@link
   * CancelledException}. Interrupting the thread that is inside a call does the same.
   */
  public void cancel() {
    core.cancel();
  }

  /**
   * The call that runs when so much time has passed, or else the next one, fails with {@link
   * DeadlineExceededException}, unless the mode is closed before.
   *
   * @param limit from now on
   * @return a mode to be closed
   */
  public Mode timeout(Duration limit) {
    Access.get()
        .status(
            this,
            null,
            (ctx, self) -> Raw.dlcore_context_set_deadline(ctx, Math.max(0, limit.toMillis())));
    return new Mode(() -> core.whenIdle(() -> Raw.dlcore_context_set_deadline(core.pointer(), -1)));
  }

  /**
   * Waits until the device has done everything that this context gave it, and throws its first late
   * failure.
   */
  public void synchronize() {
    Access.get().status(this, null, (ctx, self) -> Raw.dlcore_context_synchronize(ctx));
  }

  // ---- Random numbers and data

  /**
   * Starts the random numbers anew; models and loaders made from now on follow from it.
   *
   * @param seed any number
   */
  public void seed(long seed) {
    Access.get().status(this, null, (ctx, self) -> Raw.dlcore_context_set_seed(ctx, seed));
  }

  /**
   * The state of the random numbers: seed, generator and number of the next call.
   *
   * @return an i64 variable of shape [3]
   */
  public Variable generator() {
    return Access.get().variable(this, null, (ctx, self) -> Raw.dlcore_context_generator(ctx));
  }

  /**
   * Sets of samples with labels.
   *
   * @return what opens them
   */
  public Data data() {
    return data;
  }

  // ---- Files

  /**
   * Opens a safetensors file.
   *
   * @param path the file
   * @return its tensors
   */
  public Archive archive(Path path) {
    return Archive.open(this, path);
  }

  /**
   * Something that saves and loads a whole training.
   *
   * @return a checkpoint to which only the random numbers belong yet
   */
  public Checkpoint checkpoint() {
    return new Checkpoint(this);
  }
}
