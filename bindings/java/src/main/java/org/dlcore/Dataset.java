// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/** Samples with labels, not read yet. */
public final class Dataset {
  final Context context;
  final String source;
  final Tensor samples;
  final Tensor labels;

  Dataset(Context context, String source, Tensor samples, Tensor labels) {
    this.context = context;
    this.source = source;
    this.samples = samples;
    this.labels = labels;
  }

  /**
   * A loader of batches.
   *
   * @param size samples in a batch; the last one of an epoch may have fewer
   * @return a loader that reads the data when it is first used, or by {@link Loader#open}
   */
  public Loader batch(long size) {
    return new Loader(this, size);
  }
}
