// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.List;
import java.util.function.Function;

/** Methods of {@link Context} that differentiate, vectorise, capture and compile functions. */
public abstract class ContextTransforms extends ContextTensors {
  ContextTransforms(Core core) {
    super(core);
  }

  // ---- Gradients

  /**
   * Gradients of an output of one element.
   *
   * @param output what is differentiated
   * @param wrt leaves, or tensors on the way
   * @return a gradient for each of them
   */
  public List<Tensor> grad(Tensor output, List<Tensor> wrt) {
    return grad(List.of(output), wrt, null, new GradOptions());
  }

  /**
   * Gradients of the sum of outputs times seeds.
   *
   * @param outputs what is differentiated
   * @param wrt leaves, or tensors on the way
   * @param seeds one for each output; null, or nulls in it, for outputs of one element
   * @param options how
   * @return a gradient for each of wrt
   */
  public List<Tensor> grad(
      List<Tensor> outputs, List<Tensor> wrt, List<Tensor> seeds, GradOptions options) {
    return Transforms.grad(context(), outputs, wrt, seeds, options);
  }

  /**
   * The gradient of a function with one element as its value.
   *
   * @param function what is differentiated
   * @param x where
   * @return the gradient, which has history of its own
   */
  public Tensor grad(Function1 function, Tensor x) {
    return valueAndGrad(inputs -> function.apply(inputs.get(0)), x).derivatives().get(0);
  }

  /**
   * A function's value, of one element, and its gradients.
   *
   * @param function what is differentiated
   * @param inputs where
   * @return value and gradients, which have history of their own
   */
  public Derivative valueAndGrad(FunctionN function, Tensor... inputs) {
    return Transforms.vjp(function, List.of(inputs), null, true);
  }

  /**
   * A function's value and the product of a seed with its Jacobian, in reverse mode.
   *
   * @param function what is differentiated
   * @param inputs where
   * @param seed of the value's shape
   * @return value and a product for each input, which have history of their own
   */
  public Derivative vjp(FunctionN function, List<Tensor> inputs, Tensor seed) {
    return Transforms.vjp(function, inputs, seed, true);
  }

  /**
   * A function's value and the product of its Jacobian with a direction, in forward mode.
   *
   * @param function what is differentiated
   * @param inputs where
   * @param tangents a direction of each input's shape
   * @return value and tangent
   */
  public Derivative jvp(FunctionN function, List<Tensor> inputs, List<Tensor> tangents) {
    return Transforms.jvp(function, inputs, tangents);
  }

  /**
   * The second derivatives of a function with one element as its value.
   *
   * @param function what is differentiated
   * @param x where
   * @return a tensor with the axes of x twice
   */
  public Tensor hessian(Function1 function, Tensor x) {
    return Transforms.hessian(function, x);
  }

  /**
   * Applies a function of single examples to many at once.
   *
   * @param function sees tensors without the axis
   * @param axis of the examples, in inputs and result
   * @param inputs all of the same size along the axis
   * @return the results, put together along the axis
   */
  public Tensor vmap(FunctionN function, long axis, Tensor... inputs) {
    return Transforms.vmap(function, axis, List.of(inputs));
  }

  /**
   * Compares derivatives with central differences.
   *
   * @param function what is checked
   * @param inputs f64 tensors
   * @param order 1, or 2 for second derivatives, too
   * @param tolerance relative to the larger of 1 and the difference; 0 for the default
   */
  public void gradcheck(FunctionN function, List<Tensor> inputs, int order, double tolerance) {
    Transforms.gradcheck(context(), function, inputs, order, tolerance);
  }

  // ---- Graphs

  /**
   * Starts to capture a graph.
   *
   * @param name the graph's name
   * @return a capture to be ended or closed
   */
  public Capture capture(String name) {
    return new Capture(context(), name);
  }

  /**
   * Compiles a function of one tensor.
   *
   * @param function made of calls on context() context; a training step may be in it
   * @return what runs it
   */
  public Compiled compile(Function1 function) {
    return new Compiled(context(), inputs -> List.of(function.apply(inputs.get(0))));
  }

  /**
   * Compiles a function of two tensors.
   *
   * @param function made of calls on context() context; a training step may be in it
   * @return what runs it
   */
  public Compiled compile(Function2 function) {
    return new Compiled(context(), inputs -> List.of(function.apply(inputs.get(0), inputs.get(1))));
  }

  /**
   * Compiles a function of any number of tensors and with any number of results.
   *
   * @param function made of calls on context() context; a training step may be in it
   * @return what runs it
   */
  public Compiled compileAll(Function<List<Tensor>, List<Tensor>> function) {
    return new Compiled(context(), function::apply);
  }

  // ---- Ops by name

  /**
   * An op by its name.
   *
   * @param name of the catalogue, or of a custom op of context() engine
   * @return the op, on context() context
   */
  public Op op(String name) {
    return CustomOps.find(context(), name);
  }

  /**
   * Registers an op of context() engine, for every context and language that shares it.
   *
   * @param name its name
   * @param inputs how many tensors it takes
   * @param outputs how many it makes
   * @param attributes how many integers it takes
   * @param op what it does
   * @return the op, on context() context
   */
  public Op register(String name, int inputs, int outputs, int attributes, CustomOp op) {
    return CustomOps.register(context(), name, inputs, outputs, attributes, op);
  }
}
