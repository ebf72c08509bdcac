// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Attributes as packed words, for calls that the typed methods cannot express. */
final class Packing {
  private Packing() {}

  /** JSON has no infinities and no NaN: they are written as strings. */
  static double real(JsonElement value) {
    return switch (value.getAsString()) {
      case "inf" -> Double.POSITIVE_INFINITY;
      case "-inf" -> Double.NEGATIVE_INFINITY;
      case "nan" -> Double.NaN;
      default -> value.getAsDouble();
    };
  }

  static long[] words(JsonObject op, JsonObject attrs) {
    List<Long> words = new ArrayList<>();
    int used = 0;
    for (JsonElement item : op.getAsJsonArray("attrs")) {
      JsonObject attr = item.getAsJsonObject(); // one that is required and missing ends the words
      if (used == attrs.size()) {
        break; // the rest keeps its defaults
      }
      String type = attr.get("type").getAsString();
      JsonElement value = attrs.get(attr.get("name").getAsString());
      used += value == null ? 0 : 1;
      value = value == null ? attr.get("default") : value;
      boolean absent = value == null || value.isJsonNull();
      if (type.endsWith("?")) {
        words.add(absent ? 0L : 1L);
      }
      if (!absent) {
        append(type.replace("?", ""), value, words);
      }
    }
    return words.stream().mapToLong(Long::longValue).toArray();
  }

  private static void append(String type, JsonElement value, List<Long> words) {
    switch (type) {
      case "int" -> words.add(value.getAsLong());
      case "bool" -> words.add(value.getAsBoolean() ? 1L : 0L);
      case "dtype" ->
          words.add(
              value.getAsJsonPrimitive().isNumber()
                  ? value.getAsLong()
                  : Corpus.dtype(value).number());
      case "float" -> words.add(Double.doubleToRawLongBits(real(value)));
      case "string" -> {
        byte[] bytes = value.getAsString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer padded = ByteBuffer.wrap(Arrays.copyOf(bytes, (bytes.length + 7) / 8 * 8));
        padded.order(ByteOrder.nativeOrder());
        words.add((long) bytes.length);
        while (padded.hasRemaining()) {
          words.add(padded.getLong());
        }
      }
      default -> {
        long[] values = Corpus.longs(value);
        words.add((long) values.length);
        for (long item : values) {
          if (type.equals("dims")) {
            words.add(0L);
          }
          words.add(item);
        }
      }
    }
  }
}
