// SPDX-License-Identifier: Apache-2.0
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.dlcore.DType;

/** The files in cases/: what README.md describes, read into memory without the engine's help. */
final class Corpus {
  private Corpus() {}

  /** Cases, and their arrays by key. */
  record Family(String name, List<JsonObject> cases, Map<String, Elements> arrays) {
    Elements array(JsonElement key) {
      Elements found = arrays.get(key.getAsString());
      if (found == null) {
        throw new IllegalStateException(name + ".safetensors has no " + key);
      }
      return found;
    }
  }

  static List<Family> load(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      List<Family> families = new ArrayList<>();
      for (Path path : files.filter(file -> file.toString().endsWith(".json")).sorted().toList()) {
        String name = path.getFileName().toString().replace(".json", "");
        List<JsonObject> cases = new ArrayList<>();
        try (Reader reader = Files.newBufferedReader(path)) {
          for (JsonElement item : JsonParser.parseReader(reader).getAsJsonArray()) {
            cases.add(item.getAsJsonObject());
          }
        }
        families.add(new Family(name, cases, arrays(folder.resolve(name + ".safetensors"))));
      }
      return families;
    }
  }

  private static Map<String, Elements> arrays(Path path) throws IOException {
    byte[] file = Files.readAllBytes(path);
    int header = (int) ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getLong();
    String text = new String(file, 8, header, StandardCharsets.UTF_8);
    Map<String, Elements> arrays = new HashMap<>();
    for (Map.Entry<String, JsonElement> item :
        JsonParser.parseString(text).getAsJsonObject().entrySet()) {
      JsonObject entry = item.getValue().getAsJsonObject();
      JsonArray offsets = entry.getAsJsonArray("data_offsets");
      byte[] bytes =
          Arrays.copyOfRange(
              file, 8 + header + offsets.get(0).getAsInt(), 8 + header + offsets.get(1).getAsInt());
      arrays.put(
          item.getKey(), new Elements(dtype(entry.get("dtype")), shape(entry.get("shape")), bytes));
    }
    return arrays;
  }

  static DType dtype(JsonElement name) {
    return DType.valueOf(name.getAsString().toUpperCase(Locale.ROOT));
  }

  static long[] shape(JsonElement dims) {
    return longs(dims);
  }

  static long[] longs(JsonElement list) {
    JsonArray items = list.getAsJsonArray();
    long[] values = new long[items.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = items.get(i).getAsLong();
    }
    return values;
  }
}
