// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

/**
 * An op that is written in Java. All three functions run on the thread that calls the op. What they
 * throw is thrown by that call, as the cause of a {@link DlcoreException} with the same text.
 */
public interface CustomOp {
  /**
   * Says what the outputs are, from what the inputs are; runs also while a graph is captured.
   *
   * @param call sets dtype and shape of each output, and looks at no elements
   * @throws Exception what the call of the op then fails with
   */
  void infer(OpCall call) throws Exception;

  /**
   * Computes.
   *
   * @param call gives the inputs and takes the outputs
   * @throws Exception what the call of the op then fails with
   */
  void forward(OpCall call) throws Exception;

  /**
   * Computes the gradients of the inputs. Written in ops, it is itself differentiable.
   *
   * @param call gives inputs, outputs and their gradients, and takes the gradients of the inputs
   * @throws Exception what the call then fails with
   */
  default void backward(OpCall call) throws Exception {
    throw new UnimplementedException("custom op: it has no backward");
  }

  /**
   * Whether it has a {@link #backward}.
   *
   * @return false unless overridden
   */
  default boolean isDifferentiable() {
    return false;
  }
}
