// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/** Makes a tensor of two tensors. */
@FunctionalInterface
public interface Function2 {
  /**
   * Makes a tensor.
   *
   * @param x the first input
   * @param y the second input
   * @return the output
   */
  Tensor apply(Tensor x, Tensor y);
}
