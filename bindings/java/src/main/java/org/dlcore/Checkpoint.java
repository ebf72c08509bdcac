// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Streams;
import org.dlcore.nn.Module;
import org.dlcore.optim.Optimizer;
import org.dlcore.optim.Schedule;

/**
 * The whole state of a training in one file, from which it goes on as if nothing had happened: what
 * was added to it, and the random numbers of its context.
 */
public final class Checkpoint extends Resource {
  Checkpoint(Context dl) {
    super(
        dl,
        dl.core.own(
            Handle.Kind.CHECKPOINT,
            Access.get().made(dl, null, (ctx, self) -> Raw.dlcore_checkpoint_create(ctx))));
  }

  private interface Add {
    int run(long ctx, long self, String name, long object);
  }

  private Checkpoint add(String name, Resource object, Add add) {
    long other = object.handle.acquire();
    try {
      Access.get().status(context, this, (ctx, self) -> add.run(ctx, self, name, other));
    } finally {
      object.handle.release();
    }
    return this;
  }

  /**
   * Adds a model.
   *
   * @param name its name in the file, without a slash
   * @param module the model
   * @return this checkpoint
   */
  public Checkpoint add(String name, Module module) {
    return add(name, module, Raw::dlcore_checkpoint_add_module);
  }

  /**
   * Adds an optimizer.
   *
   * @param name its name in the file, without a slash
   * @param optimizer the optimizer
   * @return this checkpoint
   */
  public Checkpoint add(String name, Optimizer optimizer) {
    return add(name, optimizer, Raw::dlcore_checkpoint_add_optimizer);
  }

  /**
   * Adds a schedule.
   *
   * @param name its name in the file, without a slash
   * @param schedule the schedule; the learning rates that it sets are kept with the optimizer
   * @return this checkpoint
   */
  public Checkpoint add(String name, Schedule schedule) {
    return add(name, schedule, Raw::dlcore_checkpoint_add_schedule);
  }

  /**
   * Adds a loader, which is opened now if it was not used yet.
   *
   * @param name its name in the file, without a slash
   * @param loader the loader
   * @return this checkpoint
   */
  public Checkpoint add(String name, Loader loader) {
    return add(name, loader.loader(), Raw::dlcore_checkpoint_add_loader);
  }

  /**
   * Adds a variable of the program's own.
   *
   * @param name its name in the file, without a slash
   * @param variable the variable
   * @return this checkpoint
   */
  public Checkpoint add(String name, Variable variable) {
    return add(name, variable, Raw::dlcore_checkpoint_add_variable);
  }

  /**
   * Sets a text that is saved with the rest.
   *
   * @param key its name, which does not start with {@code dlcore.}
   * @param text the text; null takes it out
   */
  public void setText(String key, String text) {
    Access.get()
        .status(context, this, (ctx, self) -> Raw.dlcore_checkpoint_set_text(ctx, self, key, text));
  }

  /**
   * A text as it was set or loaded.
   *
   * @param key its name
   * @return the text; null when there is none
   */
  public String text(String key) {
    return Access.get().lentText(context, this, self -> Raw.dlcore_checkpoint_text(self, key));
  }

  /**
   * After a load: why what follows may differ from the training that was saved.
   *
   * @return why, or an empty text
   */
  public String warning() {
    return Access.get().lentText(context, this, Raw::dlcore_checkpoint_warning);
  }

  /**
   * Saves everything; the file is replaced as a whole or not at all.
   *
   * @param path the file
   */
  public void save(Path path) {
    String text = path.toString();
    Access.get().status(context, this, (ctx, self) -> Raw.dlcore_checkpoint_save(ctx, self, text));
  }

  /**
   * Saves everything.
   *
   * @param stream takes the bytes; it stays open
   */
  public void save(OutputStream stream) {
    Streams.write(context, this, stream, Raw::dlcore_checkpoint_write);
  }

  /**
   * Loads everything; nothing changes on failure.
   *
   * @param path a file that holds exactly what belongs to this checkpoint
   */
  public void load(Path path) {
    String text = path.toString();
    Access.get().status(context, this, (ctx, self) -> Raw.dlcore_checkpoint_load(ctx, self, text));
  }

  /**
   * Loads everything; nothing changes on failure.
   *
   * @param stream gives the bytes, and is read to its end; it stays open
   */
  public void load(InputStream stream) {
    Streams.read(context, this, stream, Raw::dlcore_checkpoint_read);
  }

  /**
   * Loads everything; nothing changes on failure.
   *
   * @param bytes what lies between position and limit
   */
  public void load(ByteBuffer bytes) {
    Streams.buffer(context, this, bytes, Raw::dlcore_checkpoint_load_buffer);
  }
}
