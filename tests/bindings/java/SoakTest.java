// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.dlcore.*;
import org.junit.jupiter.api.Test;

/** Calls without end: live handles and resident memory stay flat. */
final class SoakTest {
  private static final double GROWTH = 1.05;
  private static final int ROUNDS = 5; // a leak grows in each, heaps and compilers settle

  /** SoakTest CALLS FAILING: the long mode. */
  public static void main(String[] args) throws IOException {
    run(Integer.parseInt(args[0]), Integer.parseInt(args[1]));
  }

  @Test
  void shortMode() throws IOException {
    run(50_000, 5_000);
  }

  private static long resident() throws IOException {
    String status = Files.readString(Path.of("/proc/self/status"));
    String line =
        status.lines().filter(text -> text.startsWith("VmRSS:")).findFirst().orElseThrow();
    return Long.parseLong(line.replaceAll("\\D", ""));
  }

  private static void run(int calls, int failing) throws IOException {
    try (Engine engine = Engine.open(Engine.options().threads(2));
        Context dl = engine.context("cpu", 1)) {
      Tensor a = dl.randomUniform(64, 64);
      Tensor wrong = dl.full(3, 5);
      work(dl, a, wrong, calls, failing); // warm-up
      System.gc();
      long tensors = engine.statistics().liveTensors();
      long before = resident();
      boolean flat = false;
      for (int round = 0; round < ROUNDS && !flat; round++) {
        work(dl, a, wrong, calls, failing);
        System.gc();
        long after = resident();
        System.out.printf(
            "soak: %d calls, %d failing; %d live tensors before, %d after; %d kB before, %d kB"
                + " after%n",
            calls, failing, tensors, engine.statistics().liveTensors(), before, after);
        assertEquals(tensors, engine.statistics().liveTensors());
        flat = after <= GROWTH * before;
        before = after;
      }
      assertTrue(flat, "resident memory grew by more than 5 % in each of " + ROUNDS + " rounds");
    }
  }

  private static void work(Context dl, Tensor a, Tensor wrong, int calls, int failing) {
    for (int done = 0; done < calls; done += 100) {
      try (Scope scope = dl.scope()) {
        for (int i = 0; i < 25; i++) {
          a.add(1).multiply(a).sum(Options.sum().axes(0)).softmax(0);
        }
      }
    }
    for (int i = 0; i < failing; i++) {
      try {
        a.matmul(wrong);
        fail("the shapes do not fit");
      } catch (InvalidArgumentException expected) {
        assertTrue(expected.getMessage().contains("inner dimensions"));
      }
    }
  }
}
