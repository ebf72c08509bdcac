// SPDX-License-Identifier: Apache-2.0
package org.dlcore.nn;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.dlcore.Context;
import org.dlcore.Resource;
import org.dlcore.Tensor;
import org.dlcore.Variable;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Streams;
import org.dlcore.internal.Words;

/** A layer or a model. */
public class Module extends Resource {
  static final Module[] NONE = {};

  /** Takes over a reference. */
  Module(Context dl, long made) {
    super(dl, Access.get().own(dl, Handle.Kind.MODULE, made));
  }

  /** Layer number `layer` of the catalogue. */
  Module(Context dl, int layer, Module[] children, Words words) {
    this(dl, create(dl, layer, children, words));
  }

  private static long create(Context dl, int layer, Module[] children, Words words) {
    Access access = Access.get();
    return access.withHandles(
        dl,
        Arrays.asList(children),
        (ctx, handles) -> {
          try (Memory packed = words == null ? Memory.of() : words.memory()) {
            int count = words == null ? 0 : words.count();
            return Raw.dlcore_module_create(
                ctx, layer, handles, children.length, packed.address(), count);
          }
        });
  }

  /**
   * Runs it, on the context of its input.
   *
   * @param x its input
   * @return its output
   */
  public Tensor call(Tensor x) {
    Context dl = x.context();
    return Access.get()
        .tensor(
            dl, this, (ctx, self) -> Raw.dlcore_module_call(ctx, self, Access.get().handle(dl, x)));
  }

  /**
   * The kind of layer it is.
   *
   * @return its name in the catalogue, like {@code Linear}
   */
  public String kind() {
    return Access.get().lentText(context(), this, Raw::dlcore_module_kind);
  }

  /**
   * All of its variables and those of everything inside it.
   *
   * @return the variables in the order of their definition
   */
  public List<Variable> variables() {
    return list(false);
  }

  /**
   * The trainable ones of its variables, for an optimizer.
   *
   * @return the variables in the order of their definition
   */
  public List<Variable> parameters() {
    return new Parameters(this, list(true));
  }

  private List<Variable> list(boolean trainable) {
    Context dl = context();
    List<Variable> variables = new ArrayList<>();
    Access.get()
        .value(
            dl,
            this,
            (ctx, self) -> {
              long count = Raw.dlcore_module_variable_count(self);
              for (long i = 0; i < count; i++) {
                long variable = Raw.dlcore_module_variable(ctx, self, i);
                if (!trainable || Raw.dlcore_variable_is_trainable(variable) != 0) {
                  variables.add(Access.get().borrowed(dl, variable));
                }
              }
              return 0;
            });
    return variables;
  }

  /**
   * Where its variables are.
   *
   * @return paths like {@code 0.weight}, in the order of {@link #variables}
   */
  public List<String> paths() {
    List<String> paths = new ArrayList<>();
    long count =
        Access.get().value(context(), this, (ctx, self) -> Raw.dlcore_module_variable_count(self));
    for (long i = 0; i < count; i++) {
      long index = i;
      paths.add(
          Access.get()
              .text(
                  context(),
                  this,
                  (ctx, self, buffer, size) ->
                      Raw.dlcore_module_variable_path(ctx, self, index, buffer, size)));
    }
    return paths;
  }

  /**
   * The variable at a path.
   *
   * @param path a path like {@code 0.weight}
   * @return the variable
   */
  public Variable find(String path) {
    Context dl = context();
    return Access.get().variable(dl, this, (ctx, self) -> Raw.dlcore_module_find(ctx, self, path));
  }

  /**
   * Switches it and everything inside it to training, or to use.
   *
   * @param on true for training; layers behave so only if the context says so, too
   */
  public void train(boolean on) {
    Access.get()
        .status(
            context(),
            this,
            (ctx, self) -> Raw.dlcore_module_set_training(ctx, self, on ? 1 : 0) < 0 ? 1 : 0);
  }

  /**
   * A module that answers for ever as this one would now in use, while training goes on. Nothing is
   * copied. Any number of threads may use it, each on a context of its own.
   *
   * @return the snapshot
   */
  public Module snapshot() {
    return new Module(context(), Access.get().made(context(), this, Raw::dlcore_module_snapshot));
  }

  // ---- Saving

  /**
   * Saves all variables as safetensors; the file is replaced as a whole or not at all.
   *
   * @param path the file
   */
  public void save(Path path) {
    String text = path.toString();
    Access.get().status(context(), this, (ctx, self) -> Raw.dlcore_module_save(ctx, self, text));
  }

  /**
   * Saves all variables as safetensors.
   *
   * @param stream takes the bytes; it stays open
   */
  public void save(OutputStream stream) {
    Streams.write(context(), this, stream, Raw::dlcore_module_write);
  }

  /**
   * Loads what was saved; nothing changes on failure.
   *
   * @param path the file
   */
  public void load(Path path) {
    String text = path.toString();
    Access.get().status(context(), this, (ctx, self) -> Raw.dlcore_module_load(ctx, self, text));
  }

  /**
   * Loads what was saved; nothing changes on failure.
   *
   * @param stream gives the bytes, and is read to its end; it stays open
   */
  public void load(InputStream stream) {
    Streams.read(context(), this, stream, Raw::dlcore_module_read);
  }

  /**
   * Loads what was saved; nothing changes on failure.
   *
   * @param bytes what lies between position and limit
   */
  public void load(ByteBuffer bytes) {
    Streams.buffer(context(), this, bytes, Raw::dlcore_module_load_buffer);
  }
}
