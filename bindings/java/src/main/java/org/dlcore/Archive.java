// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Memory;
import org.dlcore.internal.Raw;
import org.dlcore.internal.Streams;
import org.dlcore.internal.Text;

/** The tensors of a safetensors file, by name. */
public final class Archive extends Resource {
  private Archive(Context dl, long made) {
    super(dl, dl.core.own(Handle.Kind.ARCHIVE, made));
  }

  /**
   * Opens a file.
   *
   * @param dl the context that its tensors will be made on
   * @param path the file
   * @return its tensors
   */
  public static Archive open(Context dl, Path path) {
    String text = path.toString();
    return new Archive(
        dl, Access.get().made(dl, null, (ctx, self) -> Raw.dlcore_archive_open(ctx, text)));
  }

  /**
   * Opens what a stream gives, which is read to its end.
   *
   * @param dl the context that its tensors will be made on
   * @param stream the bytes of a file; it stays open
   * @return its tensors
   */
  public static Archive open(Context dl, InputStream stream) {
    long[] made = new long[1];
    Streams.read(
        stream,
        (function, number) ->
            made[0] =
                Access.get()
                    .made(
                        dl,
                        null,
                        (ctx, self) -> Raw.dlcore_archive_open_stream(ctx, function, number)));
    return new Archive(dl, made[0]);
  }

  /**
   * Opens what lies in memory.
   *
   * @param dl the context that its tensors will be made on
   * @param bytes the bytes of a file, between position and limit
   * @return its tensors
   */
  public static Archive open(Context dl, ByteBuffer bytes) {
    long[] made = new long[1];
    Streams.buffer(
        bytes,
        (address, size) ->
            made[0] =
                Access.get()
                    .made(
                        dl,
                        null,
                        (ctx, self) -> Raw.dlcore_archive_open_buffer(ctx, address, size)));
    return new Archive(dl, made[0]);
  }

  /**
   * Saves tensors under their names; the file is replaced as a whole or not at all.
   *
   * @param dl the context of the tensors
   * @param path the file
   * @param tensors the tensors by name
   */
  public static void save(Context dl, Path path, Map<String, Tensor> tensors) {
    String text = path.toString();
    save(
        dl,
        tensors,
        (ctx, names, handles) ->
            Raw.dlcore_archive_save(ctx, text, names, handles, tensors.size()));
  }

  /**
   * Saves tensors under their names.
   *
   * @param dl the context of the tensors
   * @param stream takes the bytes; it stays open
   * @param tensors the tensors by name
   */
  public static void save(Context dl, OutputStream stream, Map<String, Tensor> tensors) {
    Streams.write(
        stream,
        (function, number) ->
            save(
                dl,
                tensors,
                (ctx, names, handles) ->
                    Raw.dlcore_archive_write(
                        ctx, function, number, names, handles, tensors.size())));
  }

  private interface Save {
    int run(long ctx, long names, long handles);
  }

  private static void save(Context dl, Map<String, Tensor> tensors, Save save) {
    List<Memory> texts = new ArrayList<>();
    long[] names = new long[tensors.size()];
    try {
      for (String name : tensors.keySet()) {
        byte[] bytes = Text.encode(name);
        Memory text = new Memory(bytes.length);
        texts.add(text);
        Memory.store(bytes, 0, bytes.length, text.address());
        names[texts.size() - 1] = text.address();
      }
      Access.get()
          .status(
              dl,
              null,
              (ctx, self) -> {
                long[] handles = tensors.values().stream().mapToLong(dl::handle).toArray();
                try (Memory first = Memory.of(names);
                    Memory second = Memory.of(handles)) {
                  return save.run(ctx, first.address(), second.address());
                }
              });
    } finally {
      texts.forEach(Memory::close);
    }
  }

  /**
   * What is in it.
   *
   * @return the names in sorted order
   */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    Access.get()
        .value(
            context,
            this,
            (ctx, self) -> {
              for (long i = 0; i < Raw.dlcore_archive_count(self); i++) {
                names.add(Raw.dlcore_archive_name(self, i));
              }
              return 0;
            });
    return names;
  }

  /**
   * A tensor of it.
   *
   * @param name its name
   * @return the tensor
   */
  public Tensor tensor(String name) {
    return Access.get()
        .tensor(context, this, (ctx, self) -> Raw.dlcore_archive_tensor(ctx, self, name));
  }
}
