// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.nio.file.Path;
import org.dlcore.internal.Access;
import org.dlcore.internal.Raw;

/** Sets of samples with labels: {@code dl.data().fashionMnist("train").batch(64).shuffle()}. */
public final class Data {
  private final Context context;

  Data(Context context) {
    this.context = context;
  }

  /**
   * Says where {@code fashion-mnist:} looks first.
   *
   * @param directory a folder with IDX files, plain or gzip; null for none in particular
   */
  public void setDirectory(Path directory) {
    String text = directory == null ? null : directory.toString();
    Access.get()
        .status(context, null, (ctx, self) -> Raw.dlcore_context_set_data_directory(ctx, text));
  }

  /**
   * Fashion-MNIST, from the directory that was set, or that the environment variable DLCORE_DATA
   * names, or where Debian's package dataset-fashion-mnist puts it.
   *
   * @param part {@code train} or {@code test}
   * @return f32 samples [N, 784] and i64 labels [N]
   */
  public Dataset fashionMnist(String part) {
    return source("fashion-mnist:" + part);
  }

  /**
   * IDX files, plain or gzip.
   *
   * @param directory the folder
   * @param part {@code train} or {@code test}
   * @return samples with labels
   */
  public Dataset idx(Path directory, String part) {
    return source("idx:" + directory.resolve(part));
  }

  /**
   * Any source that the engine knows.
   *
   * @param source text like {@code idx:DIR/train}
   * @return samples with labels
   */
  public Dataset source(String source) {
    return new Dataset(context, source, null, null);
  }

  /**
   * Samples from memory.
   *
   * @param samples of shape [N, ...]
   * @param labels of shape [N, ...]
   * @return samples with labels; the tensors have to stay open until the loader is
   */
  public Dataset of(Tensor samples, Tensor labels) {
    return new Dataset(context, null, samples, labels);
  }
}
