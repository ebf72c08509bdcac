// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/**
 * Samples and their labels, for one turn of a loop over a {@link Loader}. Everything that the turn
 * makes belongs to a scope of its own, which ends with the next turn or with the last one.
 *
 * <p>A loop that may be left early closes the batch itself: {@code for (Batch b : train) try (b) {
 * ... }}.
 */
public final class Batch implements AutoCloseable {
  private final Tensor x;
  private final Tensor y;
  private final Scope scope;

  Batch(Tensor x, Tensor y, Scope scope) {
    this.x = x;
    this.y = y;
    this.scope = scope;
  }

  /**
   * The samples.
   *
   * @return a tensor of shape [N, ...]
   */
  public Tensor x() {
    return x;
  }

  /**
   * The labels.
   *
   * @return a tensor of shape [N, ...]
   */
  public Tensor y() {
    return y;
  }

  /**
   * Keeps a tensor that the turn made beyond its end.
   *
   * @param tensor one that was made in this turn
   * @return the same tensor
   */
  public Tensor keep(Tensor tensor) {
    return scope.keep(tensor);
  }

  /** Ends the turn: gives back the batch and what the turn made. */
  @Override
  public void close() {
    scope.close();
  }
}
