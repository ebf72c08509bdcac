// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.List;

/** Makes a tensor of any number of tensors. */
@FunctionalInterface
public interface FunctionN {
  /**
   * Makes a tensor.
   *
   * @param inputs the inputs
   * @return the output
   */
  Tensor apply(List<Tensor> inputs);
}
