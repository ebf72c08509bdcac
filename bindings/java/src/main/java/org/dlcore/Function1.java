// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/** Makes a tensor of a tensor. */
@FunctionalInterface
public interface Function1 {
  /**
   * Makes a tensor.
   *
   * @param x the input
   * @return the output
   */
  Tensor apply(Tensor x);
}
