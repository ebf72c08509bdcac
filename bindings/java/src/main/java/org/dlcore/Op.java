// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.Arrays;
import java.util.List;
import org.dlcore.internal.Words;

/**
 * An op by its name: one of the catalogue, or a custom one, whatever language registered it. Ops of
 * the catalogue are methods of {@link Context} and {@link Tensor}, too.
 */
public final class Op {
  private final Context context;
  private final String name;
  private final int number;

  Op(Context context, String name, int number) {
    this.context = context;
    this.name = name;
    this.number = number;
  }

  /**
   * Its name.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * Its number, which for a custom op holds on its engine only.
   *
   * @return the number
   */
  public int number() {
    return number;
  }

  /**
   * Runs it without attributes, on the context that it was asked of.
   *
   * @param inputs its operands; null for one that is absent
   * @return its first result
   */
  public Tensor call(Tensor... inputs) {
    return call(Arrays.asList(inputs));
  }

  /**
   * Runs it.
   *
   * @param inputs its operands; null for one that is absent
   * @param attributes packed attributes; those of a custom op are integers
   * @return its first result
   */
  public Tensor call(List<Tensor> inputs, long... attributes) {
    return call(1, inputs, attributes).get(0);
  }

  /**
   * Runs it.
   *
   * @param outputs how many results to return
   * @param inputs its operands; null for one that is absent
   * @param attributes packed attributes; those of a custom op are integers
   * @return its results
   */
  public List<Tensor> call(int outputs, List<Tensor> inputs, long... attributes) {
    return context.run(number, inputs.toArray(new Tensor[0]), new Words(attributes), outputs);
  }

  @Override
  public String toString() {
    return "Op(" + name + ")";
  }
}
