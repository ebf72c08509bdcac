// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The options of the command line. */
record Settings(
    long epochs,
    int threads,
    long seed,
    long limit,
    Path data,
    Path losses,
    Path save,
    Path checkpoint,
    Path resume) {
  private static final String USAGE =
      """
      Trains a small classifier on Fashion-MNIST.
        --epochs N         passes over the training set (5)
        --threads N        threads of the engine (0: all)
        --seed N           seed of weights and order (8)
        --limit N          stop after N steps
        --data DIR         directory with the IDX files, plain or gzip
        --losses FILE      write the loss of each step, as a hexadecimal float
        --save FILE        where the weights go (fashion.safetensors)
        --checkpoint FILE  write the whole state after the last step
        --resume FILE      go on from such a state\
      """;
  private static final Set<String> NAMES =
      Set.of(
          "epochs", "threads", "seed", "limit", "data", "losses", "save", "checkpoint", "resume");

  static Settings parse(String[] arguments) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i < arguments.length; i += 2) {
      String name = arguments[i].replaceFirst("^--", "");
      if (!NAMES.contains(name) || i + 1 == arguments.length) {
        throw new IllegalArgumentException(arguments[i] + " is not understood\n" + USAGE);
      }
      given.put(name, arguments[i + 1]);
    }
    return new Settings(
        number(given, "epochs", 5),
        (int) number(given, "threads", 0),
        number(given, "seed", 8),
        number(given, "limit", -1),
        path(given, "data", null),
        path(given, "losses", null),
        path(given, "save", "fashion.safetensors"),
        path(given, "checkpoint", null),
        path(given, "resume", null));
  }

  private static long number(Map<String, String> given, String name, long otherwise) {
    try {
      return given.containsKey(name) ? Long.parseUnsignedLong(given.get(name)) : otherwise;
    } catch (NumberFormatException error) {
      throw new IllegalArgumentException(
          "--" + name + " " + given.get(name) + " is no number\n" + USAGE);
    }
  }

  private static Path path(Map<String, String> given, String name, String otherwise) {
    String text = given.getOrDefault(name, otherwise);
    return text == null ? null : Path.of(text);
  }

  /** Where the losses go. */
  PrintWriter open() throws IOException {
    return new PrintWriter(losses == null ? Writer.nullWriter() : Files.newBufferedWriter(losses));
  }
}
