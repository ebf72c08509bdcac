// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.dlcore.Context;
import org.dlcore.DType;
import org.dlcore.Options;
import org.dlcore.Tensor;

/** Calls ops by name through the generated methods of Context. Knows of no single op. */
final class Catalogue {
  private final Map<String, JsonObject> ops = new HashMap<>();
  private final Map<String, Method> methods = new HashMap<>();
  private final Map<String, List<Method>> byName = new HashMap<>();
  private int typed;
  private int packed;

  /**
   * @param json capi/ops.json
   */
  Catalogue(JsonObject json) {
    for (Method method : Context.class.getMethods()) {
      byName.computeIfAbsent(method.getName(), name -> new ArrayList<>()).add(method);
    }
    for (JsonElement item : json.getAsJsonArray("ops")) {
      JsonObject op = item.getAsJsonObject();
      ops.put(op.get("name").getAsString(), op);
    }
  }

  Iterable<JsonObject> ops() {
    return ops.values();
  }

  String counts() {
    return typed + " calls by generated methods, " + packed + " by packed attributes";
  }

  static boolean isHidden(JsonObject op) {
    return op.get("hidden").getAsBoolean();
  }

  static String camel(String name) {
    StringBuilder text = new StringBuilder();
    for (String word : name.split("_")) {
      text.append(
          text.length() == 0
              ? word
              : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
    }
    return text.toString();
  }

  /** Runs an op with the attributes of a case, null for inputs that are absent; its results. */
  List<Tensor> call(Context dl, String name, List<Tensor> inputs, JsonObject attrs, int outputs) {
    JsonObject op = ops.get(name);
    Method method = methods.computeIfAbsent(name, key -> fullForm(op));
    List<JsonObject> positions = inputsOf(op);
    boolean variadic =
        !positions.isEmpty() && positions.get(positions.size() - 1).get("variadic").getAsBoolean();
    boolean fits =
        variadic
            ? inputs.size() >= positions.size() - 1 && !inputs.contains(null)
            : fits(positions, inputs);
    if (!fits || outputs > 1 || !isTyped(op, attrs)) {
      packed++;
      return dl.op(name).call(outputs, inputs, Packing.words(op, attrs));
    }
    typed++;
    List<Object> arguments = new ArrayList<>(inputs);
    if (variadic) {
      arguments = new ArrayList<>(inputs.subList(0, positions.size() - 1));
      arguments.add(List.copyOf(inputs.subList(positions.size() - 1, inputs.size())));
    }
    while (!variadic && arguments.size() < positions.size()) {
      arguments.add(null);
    }
    Object result = invoke(method, dl, complete(op, method, arguments, attrs));
    if (result instanceof List<?> list) {
      return list.stream().map(Tensor.class::cast).toList();
    }
    return List.of((Tensor) result);
  }

  /** Whether every input that must be there is, and no more: else only packed calls can say it. */
  private static boolean fits(List<JsonObject> positions, List<Tensor> inputs) {
    for (int i = 0; i < positions.size(); i++) {
      boolean given = i < inputs.size() && inputs.get(i) != null;
      if (!given && !positions.get(i).get("optional").getAsBoolean()) {
        return false;
      }
    }
    return inputs.size() <= positions.size();
  }

  /** Whether nothing is missing and every value has its type: what is wrong can only be packed. */
  private static boolean isTyped(JsonObject op, JsonObject attrs) {
    for (JsonElement item : op.getAsJsonArray("attrs")) {
      JsonObject attr = item.getAsJsonObject();
      JsonElement choices = attr.get("choices");
      JsonElement value = attrs.get(attr.get("name").getAsString());
      boolean unknown =
          choices != null && value != null && !choices.getAsJsonArray().contains(value);
      boolean number =
          value != null && attr.get("type").getAsString().equals("dtype") && isNumber(value);
      if (unknown || number || value == null && isRequired(attr)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isNumber(JsonElement value) {
    return value.getAsJsonPrimitive().isNumber();
  }

  /** The engine itself adds the key of a random op. */
  private static List<JsonObject> inputsOf(JsonObject op) {
    List<JsonObject> inputs = new ArrayList<>();
    for (JsonElement input : op.getAsJsonArray("inputs")) {
      inputs.add(input.getAsJsonObject());
    }
    int last = inputs.size() - 1;
    if (last >= 0
        && op.get("effect").getAsString().equals("random")
        && inputs.get(last).get("name").getAsString().equals("key")) {
      inputs.remove(last);
    }
    return inputs;
  }

  private static boolean isRequired(JsonObject attr) {
    return !attr.has("default");
  }

  /** The overload that takes all inputs, all required attributes and, if there are any, options. */
  private Method fullForm(JsonObject op) {
    int inputs = inputsOf(op).size();
    int required = 0;
    int optional = 0;
    for (JsonElement item : op.getAsJsonArray("attrs")) {
      if (isRequired(item.getAsJsonObject())) {
        required++;
      } else {
        optional++;
      }
    }
    int count = inputs + required + (optional > 0 ? 1 : 0);
    for (Method method : byName.getOrDefault(camel(op.get("name").getAsString()), List.of())) {
      Class<?>[] types = method.getParameterTypes();
      boolean tensors = types.length == count;
      for (int i = 0; tensors && i < inputs; i++) {
        boolean listed =
            types[i] == List.class
                && method.getGenericParameterTypes()[i] instanceof ParameterizedType;
        tensors = types[i] == Tensor.class || listed;
      }
      if (tensors && (optional == 0 || types[count - 1].getPackageName().equals("org.dlcore.op"))) {
        return method;
      }
    }
    throw new IllegalStateException("Context has no method for the op " + op.get("name"));
  }

  private Object[] complete(
      JsonObject op, Method method, List<Object> arguments, JsonObject attrs) {
    Class<?>[] types = method.getParameterTypes();
    Object options = null;
    if (types.length > 0 && types[types.length - 1].getPackageName().equals("org.dlcore.op")) {
      options = invoke(find(Options.class, camel(op.get("name").getAsString())), null);
    }
    int used = 0;
    for (JsonElement item : op.getAsJsonArray("attrs")) {
      JsonObject attr = item.getAsJsonObject();
      String name = attr.get("name").getAsString();
      JsonElement value = attrs.get(name);
      used += value == null ? 0 : 1;
      if (isRequired(attr)) {
        arguments.add(convert(value, types[arguments.size()]));
      } else if (value != null && !value.isJsonNull()) {
        Method setter = setter(options.getClass(), camel(name));
        invoke(setter, options, convert(value, setter.getParameterTypes()[0]));
      }
    }
    if (used != attrs.size()) {
      throw new IllegalStateException(
          "op " + op.get("name") + " lacks one of the attributes " + attrs);
    }
    if (options != null) {
      arguments.add(options);
    }
    return arguments.toArray();
  }

  private static Method find(Class<?> type, String name) {
    return Arrays.stream(type.getMethods())
        .filter(m -> m.getName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Method setter(Class<?> type, String name) {
    return Arrays.stream(type.getMethods())
        .filter(
            m ->
                (m.getName().equals(name) || m.getName().equals(name + "_"))
                    && m.getParameterCount() == 1)
        .findFirst()
        .orElseThrow();
  }

  private static Object convert(JsonElement value, Class<?> type) {
    if (type == long.class) {
      return value.getAsLong();
    }
    if (type == double.class) {
      return Packing.real(value);
    }
    if (type == boolean.class) {
      return value.getAsJsonPrimitive().isBoolean() ? value.getAsBoolean() : value.getAsLong() != 0;
    }
    if (type == long[].class) {
      return Corpus.longs(value);
    }
    if (type == DType.class) {
      return Corpus.dtype(value);
    }
    for (Object constant : type.getEnumConstants()) {
      if (constant.toString().equals(value.getAsString())) {
        return constant;
      }
    }
    throw new IllegalStateException(type + " has no " + value);
  }

  private static Object invoke(Method method, Object on, Object... arguments) {
    try {
      return method.invoke(on, arguments);
    } catch (InvocationTargetException error) {
      if (error.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(error.getCause());
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }
}
