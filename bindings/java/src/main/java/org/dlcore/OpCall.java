// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import org.dlcore.internal.Access;
import org.dlcore.internal.Raw;

/** One call of a custom op, seen from inside; it ends with the function it was given to. */
public final class OpCall {
  private final Context context;
  private final long pointer;

  OpCall(Context context, long pointer) {
    this.context = context;
    this.pointer = pointer;
  }

  private long live() {
    if (context.isClosed()) {
      throw new FailedPreconditionException("op call: it is over");
    }
    return pointer;
  }

  /**
   * The context of this call: what it makes ends with it.
   *
   * @return a context for the calls of this function
   */
  public Context context() {
    return context;
  }

  /**
   * How many inputs there are.
   *
   * @return the number
   */
  public int inputs() {
    return Raw.dlcore_op_call_input_count(live());
  }

  /**
   * An input.
   *
   * @param index counted from 0
   * @return the tensor, or null for a wrong index; in infer only its dtype and shape may be looked
   *     at
   */
  public Tensor input(int index) {
    return CallbackContext.borrow(context, Raw.dlcore_op_call_input(live(), index));
  }

  /**
   * An output, in backward.
   *
   * @param index counted from 0
   * @return the tensor
   */
  public Tensor output(int index) {
    return CallbackContext.borrow(context, Raw.dlcore_op_call_output(live(), index));
  }

  /**
   * The gradient that came to an output, in backward.
   *
   * @param index counted from 0
   * @return the tensor, or null when none came
   */
  public Tensor gradient(int index) {
    return CallbackContext.borrow(context, Raw.dlcore_op_call_gradient(live(), index));
  }

  /**
   * Whether the gradient of an input is asked for.
   *
   * @param index counted from 0
   * @return true when it is
   */
  public boolean needsGradient(int index) {
    return Raw.dlcore_op_call_needs_gradient(live(), index) == 1;
  }

  /**
   * An attribute.
   *
   * @param index counted from 0
   * @return its value
   */
  public long attribute(int index) {
    return Raw.dlcore_op_call_attr(live(), index);
  }

  /**
   * Says what an output is.
   *
   * @param index counted from 0
   * @param dtype what its elements are
   * @param shape its dimensions
   */
  public void setOutputType(int index, DType dtype, long... shape) {
    Access.get()
        .status(
            context,
            null,
            (ctx, self) ->
                Raw.dlcore_op_call_set_output_type(
                    live(),
                    index,
                    dtype.number(),
                    context.core.longs(shape, shape.length, 0),
                    shape.length));
  }

  /**
   * Says that an output has the dtype and shape of another tensor.
   *
   * @param index counted from 0
   * @param like the tensor
   */
  public void setOutputLike(int index, Tensor like) {
    set(like, handle -> Raw.dlcore_op_call_set_output_like(live(), index, handle));
  }

  /**
   * Sets an output.
   *
   * @param index counted from 0
   * @param value of the dtype and shape that infer said
   */
  public void setOutput(int index, Tensor value) {
    set(value, handle -> Raw.dlcore_op_call_set_output(live(), index, handle));
  }

  /**
   * Sets the gradient of an input.
   *
   * @param index counted from 0
   * @param value of the dtype and shape of the input
   */
  public void setInputGradient(int index, Tensor value) {
    set(value, handle -> Raw.dlcore_op_call_set_input_gradient(live(), index, handle));
  }

  private interface Set {
    int run(long handle);
  }

  private void set(Tensor tensor, Set call) {
    Access.get().status(context, null, (ctx, self) -> call.run(context.handle(tensor)));
  }
}
