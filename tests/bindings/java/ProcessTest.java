// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.dlcore.Context;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What needs a process of its own: unpacking the natives, progress, loggers. */
final class ProcessTest {
  @TempDir Path cache;

  /** The program that the processes run. */
  public static void main(String[] args) {
    try (Context dl = Context.open("cpu")) {
      System.out.println("sum " + dl.full(3).add(1).sum().toFloat());
    }
  }

  private Process start(String... options) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), "ProcessTest"));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("XDG_CACHE_HOME", cache.toString());
    return builder.start();
  }

  private static void requireSum(Process process) throws Exception {
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), output);
    assertTrue(output.contains("sum 3.0"), output);
  }

  private List<Path> folders() throws IOException {
    try (Stream<Path> found = Files.list(cache.resolve("dlcore/java"))) {
      return found.toList();
    }
  }

  @Test
  void nativesAreUnpackedOnceByProcessesThatStartTogether() throws Exception {
    List<Process> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(start());
    }
    for (Process process : all) {
      requireSum(process);
    }
    assertEquals(1, folders().size(), folders().toString());

    Path fixed = folders().get(0);
    Path elsewhere = Files.move(fixed, cache.resolve("elsewhere"));
    requireSum(start("-Ddlcore.library.path=" + elsewhere));
    assertEquals(0, folders().size(), "a fixed path unpacks nothing");
  }

  @Test
  void cacheThatLostAFileIsNoObstacle() throws Exception {
    requireSum(start());
    Files.delete(folders().get(0).resolve("libdlcore.so.1"));
    requireSum(start());
  }

  @Test
  void cacheThatCannotBeWrittenIsNoObstacle() throws Exception {
    Files.writeString(cache.resolve("dlcore"), "a file where the folder should be");
    requireSum(start());
  }

  @Test
  void missingNativesAreNamed() throws Exception {
    Process process = start("-Ddlcore.library.path=" + cache);
    String output = new String(process.getInputStream().readAllBytes());
    assertNotEquals(0, process.waitFor());
    assertTrue(output.contains(cache.toString()), output);
  }
}
