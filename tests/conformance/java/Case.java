// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.dlcore.Context;
import org.dlcore.Tensor;

/** One case of the corpus. */
record Case(Catalogue catalogue, Corpus.Family family, JsonObject json) {
  String name() {
    return json.get("name").getAsString();
  }

  String op() {
    return json.get("op").getAsString();
  }

  boolean has(String flag) {
    return json.has("flags") && json.getAsJsonArray("flags").contains(new JsonPrimitive(flag));
  }

  JsonObject expect() {
    return json.getAsJsonObject("expect");
  }

  JsonObject output(int index) {
    return expect().getAsJsonArray("outputs").get(index).getAsJsonObject();
  }

  JsonElement input(int index) {
    return json.getAsJsonArray("inputs").get(index);
  }

  JsonObject gradients() {
    return json.getAsJsonObject("gradients");
  }

  Comparison comparison() {
    return Comparison.of(json.getAsJsonObject("tolerance"), has("signed_zero"));
  }

  Comparison gradientComparison() {
    return Comparison.of(gradients().getAsJsonObject("tolerance"), false);
  }

  /** Positions of inputs whose gradient is stated. */
  List<Integer> differentiable() {
    List<Integer> positions = new ArrayList<>();
    if (json.has("gradients")) {
      JsonArray keys = gradients().getAsJsonArray("inputs");
      for (int i = 0; i < keys.size(); i++) {
        if (!keys.get(i).isJsonNull()) {
          positions.add(i);
        }
      }
    }
    return positions;
  }

  Elements gradient(int input) {
    return family.array(gradients().getAsJsonArray("inputs").get(input));
  }

  Elements seed() {
    Elements stored = family.array(gradients().get("seed"));
    long[] shape = Corpus.shape(output(0).get("shape"));
    return Elements.rounded(
        Corpus.dtype(output(0).get("dtype")), shape, stored.count(), stored::real);
  }

  List<Tensor> inputs(Context dl) {
    List<Tensor> tensors = new ArrayList<>();
    for (JsonElement record : json.getAsJsonArray("inputs")) {
      tensors.add(record.isJsonNull() ? null : input(dl, record.getAsJsonObject()));
    }
    return tensors;
  }

  private Tensor input(Context dl, JsonObject record) {
    if (record.has("weak") && record.get("weak").getAsBoolean()) {
      JsonElement value = record.get("value");
      return switch (record.get("kind").getAsString()) {
        case "f64" -> dl.scalar(Packing.real(value));
        case "i64" -> dl.scalar(value.getAsLong());
        default -> dl.scalar(value.getAsBoolean());
      };
    }
    Tensor tensor = family.array(record.get("tensor")).tensor(dl);
    if (!record.has("view")) {
      return tensor;
    }
    for (JsonElement item : record.getAsJsonArray("view")) {
      JsonArray step = item.getAsJsonArray();
      tensor =
          catalogue
              .call(
                  dl, step.get(0).getAsString(), List.of(tensor), step.get(1).getAsJsonObject(), 1)
              .get(0);
    }
    requireView(tensor, record);
    return tensor;
  }

  /** Views share storage: what a case calls strided must reach the op strided. */
  private static void requireView(Tensor tensor, JsonObject record) {
    long[] shape = Corpus.shape(record.get("shape"));
    long[] strides = Corpus.longs(record.get("strides"));
    boolean same = Arrays.equals(tensor.shape(), shape);
    for (int i = 0; same && i < strides.length; i++) {
      same = shape[i] <= 1 || tensor.strides()[i] == strides[i] || tensor.count() == 0;
    }
    if (!same) {
      throw new Failure(
          "input: view has shape "
              + Arrays.toString(tensor.shape())
              + " and strides "
              + Arrays.toString(tensor.strides())
              + ", expected "
              + record);
    }
  }

  List<Tensor> run(Context dl, List<Tensor> inputs, int outputs) {
    if (json.has("words")) {
      return dl.op(op()).call(outputs, inputs, Corpus.longs(json.get("words")));
    }
    JsonObject attrs = json.has("attrs") ? json.getAsJsonObject("attrs") : new JsonObject();
    return catalogue.call(dl, op(), inputs, attrs, outputs);
  }

  Tensor run(Context dl, List<Tensor> inputs) {
    return run(dl, inputs, 1).get(0);
  }
}
