// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonElement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.dlcore.Context;
import org.dlcore.DType;
import org.dlcore.Derivative;
import org.dlcore.Tensor;

/** Forward mode, differences and vectorisation, through the functions of Context. */
final class DerivativeChecks {
  private static final int EXAMPLES = 3;

  private DerivativeChecks() {}

  private static List<Tensor> with(
      List<Tensor> inputs, List<Integer> positions, List<Tensor> given) {
    List<Tensor> all = new ArrayList<>(inputs);
    for (int k = 0; k < given.size(); k++) {
      all.set(positions.get(k), given.get(k));
    }
    return all;
  }

  /** A direction without pattern that a mistake could hide behind. */
  private static double direction(int element, int input) {
    return ((element * 7 + input * 3 + 3) % 11 - 5) / 8.0;
  }

  static void forwardMode(Context dl, Case test) {
    List<Integer> positions = test.differentiable();
    List<Tensor> inputs = test.inputs(dl);
    List<Tensor> primals = new ArrayList<>();
    List<Tensor> tangents = new ArrayList<>();
    double expected = 0;
    double size = 0;
    for (int i : positions) {
      double[] gradient = test.gradient(i).reals();
      DType dtype = Corpus.dtype(test.input(i).getAsJsonObject().get("dtype"));
      long[] shape = Corpus.shape(test.input(i).getAsJsonObject().get("shape"));
      primals.add(inputs.get(i));
      tangents.add(
          Elements.rounded(dtype, shape, gradient.length, e -> direction(e, i)).tensor(dl));
      for (int e = 0; e < gradient.length; e++) {
        expected += gradient[e] * direction(e, i);
        size += Math.abs(gradient[e] * direction(e, i));
      }
    }
    if (Double.isNaN(size) || Double.isInfinite(size)) {
      return;
    }
    Derivative result =
        dl.jvp(given -> test.run(dl, with(inputs, positions, given)), primals, tangents);
    test.comparison()
        .require(
            "forward mode, primal: ",
            Elements.of(result.value()),
            test.family().array(test.output(0).get("tensor")));
    Elements seed = test.seed();
    Tensor tangent = result.derivatives().get(0);
    Checks.requireType("forward mode, tangent: ", tangent, seed.dtype(), seed.shape());
    double[] rates = Elements.of(tangent).reals();
    double got = 0;
    for (int e = 0; e < rates.length; e++) {
      got += seed.real(e) * rates[e];
      size += Math.abs(seed.real(e) * rates[e]);
    }
    Comparison tolerance = test.gradientComparison();
    if (!(Math.abs(got - expected) <= (tolerance.rtol() + 1e-10) * size + tolerance.atol())) {
      throw new Failure("forward mode: <seed, J t> is " + got + ", expected " + expected);
    }
  }

  static void gradcheck(Context dl, Case test) {
    List<Integer> positions = test.differentiable();
    List<Tensor> inputs = test.inputs(dl);
    List<Tensor> points = positions.stream().map(inputs::get).toList();
    dl.gradcheck(
        given -> {
          Context child = given.get(0).context(); // all operands have to belong to the callback
          List<Tensor> all = new ArrayList<>();
          for (Tensor input : inputs) {
            all.add(input == null ? null : input.on(child));
          }
          return test.run(child, with(all, positions, given));
        },
        points,
        2,
        0);
  }

  static void vmap(Context dl, Case test) {
    List<Tensor> inputs = test.inputs(dl);
    List<Integer> tensors = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      JsonElement record = test.input(i);
      if (record.isJsonObject() && !record.getAsJsonObject().has("weak")) {
        tensors.add(i);
      }
    }
    compareWithLoop(dl, test, inputs, tensors, "vmap: ");
    if (tensors.size() > 1) {
      compareWithLoop(dl, test, inputs, tensors.subList(0, 1), "vmap of the first input: ");
    }
  }

  private static void compareWithLoop(
      Context dl, Case test, List<Tensor> inputs, List<Integer> mapped, String what) {
    List<Elements> arrays = mapped.stream().map(i -> Elements.of(inputs.get(i))).toList();
    List<Elements> looped = new ArrayList<>();
    for (int k = 0; k < EXAMPLES; k++) {
      int example = k;
      List<Tensor> one = arrays.stream().map(array -> example(array, example).tensor(dl)).toList();
      looped.add(Elements.of(test.run(dl, with(inputs, mapped, one))));
    }
    Tensor[] all = arrays.stream().map(array -> stack(array).tensor(dl)).toArray(Tensor[]::new);
    Tensor got = dl.vmap(given -> test.run(dl, with(inputs, mapped, given)), 0, all);
    Elements expected = join(looped);
    Checks.requireType(what, got, expected.dtype(), expected.shape());
    test.comparison().require(what, Elements.of(got), expected);
  }

  /** Example k: the elements moved on by k places, so that every example is within the domain. */
  private static Elements example(Elements array, int k) {
    int size = array.dtype().bytes();
    int count = array.count();
    byte[] moved = array.bytes().clone();
    if (count > 0) {
      int by = k % count * size;
      System.arraycopy(array.bytes(), by, moved, 0, moved.length - by);
      System.arraycopy(array.bytes(), 0, moved, moved.length - by, by);
    }
    return new Elements(array.dtype(), array.shape(), moved);
  }

  private static Elements stack(Elements array) {
    List<Elements> all = new ArrayList<>();
    for (int k = 0; k < EXAMPLES; k++) {
      all.add(example(array, k));
    }
    return join(all);
  }

  private static Elements join(List<Elements> parts) {
    Elements first = parts.get(0);
    long[] shape = new long[first.shape().length + 1];
    shape[0] = parts.size();
    System.arraycopy(first.shape(), 0, shape, 1, first.shape().length);
    byte[] bytes = new byte[0];
    for (Elements part : parts) {
      int at = bytes.length;
      bytes = Arrays.copyOf(bytes, at + part.bytes().length);
      System.arraycopy(part.bytes(), 0, bytes, at, part.bytes().length);
    }
    return new Elements(first.dtype(), shape, bytes);
  }
}
