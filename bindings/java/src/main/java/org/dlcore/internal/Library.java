// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * Finds and loads the native libraries: those in the folder that the system property {@code
 * dlcore.library.path} names, or else those of this jar.
 *
 * <p>The jar's are unpacked to the user's cache, once for each content: the folder is named by a
 * hash that the build wrote beside the libraries. It is filled under another name and then renamed,
 * so that any number of processes may start at the same time.
 */
public final class Library {
  private static final String ENGINE = "libdlcore.so.1";
  private static final String GLUE = "libdlcore_java.so";

  private Library() {}

  /** Makes the native methods callable. */
  public static void load() {
    Loaded.touch();
  }

  /** Initialised once, by whoever comes first. */
  private static final class Loaded {
    static {
      try {
        // The loader takes the engine from beside the glue, unless the process has it already.
        System.load(folder().resolve(GLUE).toString());
      } catch (IOException error) {
        throw new UncheckedIOException(
            "dlcore: its native libraries cannot be unpacked: " + error.getMessage(), error);
      }
    }

    static void touch() {}
  }

  private static Path folder() throws IOException {
    String fixed = System.getProperty("dlcore.library.path");
    if (fixed != null) {
      return Path.of(fixed).toAbsolutePath();
    }
    String resources = "/org/dlcore/natives/" + platform() + "/";
    String hash = new String(bytes(resources + "hash"), StandardCharsets.US_ASCII).trim();
    Path cache = cache();
    Path folder = cache.resolve(hash);
    if (!isComplete(folder)) {
      try {
        Files.createDirectories(cache);
      } catch (IOException error) {
        return temporary(resources); // nothing can be kept for the next process
      }
      unpack(resources, cache, folder);
    }
    return isComplete(folder) ? folder : temporary(resources); // something removed part of it
  }

  private static boolean isComplete(Path folder) {
    return Files.isRegularFile(folder.resolve(ENGINE)) && Files.isRegularFile(folder.resolve(GLUE));
  }

  /** A folder for this process only. */
  private static Path temporary(String resources) throws IOException {
    Path folder = Files.createTempDirectory("dlcore-");
    folder.toFile().deleteOnExit(); // the last of the three, which go in reverse order
    for (String name : new String[] {ENGINE, GLUE}) {
      copy(resources, name, folder);
      folder.resolve(name).toFile().deleteOnExit();
    }
    return folder;
  }

  private static void copy(String resources, String name, Path folder) throws IOException {
    try (InputStream stream = open(resources + name)) {
      Files.copy(stream, folder.resolve(name));
    }
  }

  private static void unpack(String resources, Path cache, Path folder) throws IOException {
    Path unfinished = Files.createTempDirectory(cache, "unfinished-");
    try {
      for (String name : new String[] {ENGINE, GLUE}) {
        copy(resources, name, unfinished);
      }
      Files.move(unfinished, folder, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileSystemException error) {
      delete(unfinished);
      if (!Files.isDirectory(folder)) { // else another process was faster
        throw error;
      }
    }
  }

  private static void delete(Path unfinished) throws IOException {
    Files.deleteIfExists(unfinished.resolve(ENGINE));
    Files.deleteIfExists(unfinished.resolve(GLUE));
    Files.deleteIfExists(unfinished);
  }

  private static Path cache() {
    String configured = System.getenv("XDG_CACHE_HOME");
    Path base =
        configured != null && !configured.isEmpty()
            ? Path.of(configured)
            : Path.of(System.getProperty("user.home"), ".cache");
    return base.resolve("dlcore").resolve("java").toAbsolutePath();
  }

  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT).split(" ")[0];
    String machine = System.getProperty("os.arch");
    return system + "-" + (machine.equals("amd64") ? "x86_64" : machine);
  }

  private static byte[] bytes(String resource) throws IOException {
    try (InputStream stream = open(resource)) {
      return stream.readAllBytes();
    }
  }

  private static InputStream open(String resource) throws IOException {
    InputStream stream = Library.class.getResourceAsStream(resource);
    if (stream == null) {
      throw new IOException(
          resource
              + " is not in the jar; the system property dlcore.library.path can name a folder with"
              + " "
              + ENGINE
              + " and "
              + GLUE);
    }
    return stream;
  }
}
