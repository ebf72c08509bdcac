// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.dlcore.Context;
import org.dlcore.DType;
import org.dlcore.DlcoreException;
import org.dlcore.GradOptions;
import org.dlcore.Tensor;

/** What a case asks for: outputs, layouts, errors, gradients. */
final class Checks {
  private Checks() {}

  static void error(Context dl, Case test) {
    String code = test.expect().get("error").getAsString();
    try {
      test.run(dl, test.inputs(dl));
      dl.synchronize();
    } catch (DlcoreException error) {
      if (!error.codeName().equals(code)) {
        throw new Failure(
            "failed with " + error.codeName() + ": " + error.getMessage() + ", expected " + code);
      }
      for (JsonElement word : test.expect().getAsJsonArray("contains")) {
        if (!error.getMessage().contains(word.getAsString())) {
          throw new Failure("message '" + error.getMessage() + "' lacks " + word);
        }
      }
      return;
    }
    throw new Failure("succeeded, expected " + code);
  }

  static void outputs(Context dl, Case test) {
    int count = test.expect().getAsJsonArray("outputs").size();
    List<Tensor> outputs = test.run(dl, test.inputs(dl), count);
    for (int i = 0; i < count; i++) {
      output(test, i, outputs.get(i));
    }
  }

  private static void output(Case test, int index, Tensor tensor) {
    JsonObject expected = test.output(index);
    String where = "output " + index + ": ";
    requireType(
        where, tensor, Corpus.dtype(expected.get("dtype")), Corpus.shape(expected.get("shape")));
    boolean weak = expected.has("weak") && expected.get("weak").getAsBoolean();
    if (tensor.isWeak() != weak) {
      throw new Failure(where + "weak is " + tensor.isWeak() + ", expected " + weak);
    }
    Elements got = Elements.of(tensor);
    if (expected.has("within")) {
      JsonArray bounds = expected.getAsJsonArray("within");
      for (double value : got.reals()) {
        if (!(value >= bounds.get(0).getAsDouble() && value < bounds.get(1).getAsDouble())) {
          throw new Failure(where + value + " is not in " + bounds);
        }
      }
    }
    if (expected.has("tensor")) {
      test.comparison().require(where, got, test.family().array(expected.get("tensor")));
    }
  }

  static void requireType(String where, Tensor tensor, DType dtype, long[] shape) {
    if (tensor.dtype() != dtype) {
      throw new Failure(where + "dtype is " + tensor.dtype() + ", expected " + dtype);
    }
    if (!Arrays.equals(tensor.shape(), shape)) {
      throw new Failure(
          where
              + "shape is "
              + Arrays.toString(tensor.shape())
              + ", expected "
              + Arrays.toString(shape));
    }
  }

  /** The same bits from contiguous inputs. */
  static void layout(Context dl, Case test) {
    List<Tensor> given = test.inputs(dl);
    List<Tensor> plain = new ArrayList<>(given);
    boolean strided = false;
    for (int i = 0; i < given.size(); i++) {
      JsonElement record = test.input(i);
      if (record.isJsonObject() && record.getAsJsonObject().has("view")) {
        plain.set(i, Elements.of(given.get(i)).tensor(dl));
        strided = true;
      }
    }
    if (strided && !Arrays.equals(test.run(dl, given).toBytes(), test.run(dl, plain).toBytes())) {
      throw new Failure("not the same bits as with contiguous inputs");
    }
  }

  static void gradients(Context dl, Case test) {
    List<Integer> positions = test.differentiable();
    List<Tensor> inputs = test.inputs(dl);
    List<Tensor> leaves = new ArrayList<>();
    for (int i : positions) {
      inputs.set(i, inputs.get(i).watch());
      leaves.add(inputs.get(i));
    }
    Tensor output = test.run(dl, inputs);
    List<Tensor> gradients = new ArrayList<>();
    if (output.requiresGrad()) {
      Tensor seed = test.seed().tensor(dl);
      gradients =
          dl.grad(List.of(output), leaves, List.of(seed), new GradOptions().allowUnused(true));
    }
    for (int k = 0; k < positions.size(); k++) {
      int i = positions.get(k);
      JsonObject record = test.input(i).getAsJsonObject();
      long[] shape = Corpus.shape(record.get("shape"));
      DType dtype = Corpus.dtype(record.get("dtype"));
      String where = "gradient of input " + i + ": ";
      Tensor gradient = gradients.isEmpty() ? null : gradients.get(k);
      Elements expected = test.gradient(i);
      if (gradient != null) {
        requireType(where, gradient, dtype, shape);
      }
      // An input without influence, and all inputs of a constant: zeros.
      Elements got =
          gradient == null
              ? Elements.rounded(dtype, shape, expected.count(), e -> 0)
              : Elements.of(gradient);
      test.gradientComparison().require(where, got, expected);
    }
  }
}
