// SPDX-License-Identifier: Apache-2.0
import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.util.List;
import org.dlcore.*;
import org.junit.jupiter.api.Test;

/** Calls that are ended from outside. */
final class CancelTest extends EngineTest {
  private Tensor large() {
    return dl.randomUniform(3000, 3000);
  }

  private void multiplyForEver(Tensor x) {
    while (true) {
      x.matmul(x).close();
    }
  }

  private void later(Runnable action) {
    Thread thread =
        new Thread(
            () -> {
              try {
                Thread.sleep(50);
              } catch (InterruptedException error) {
                return;
              }
              action.run();
            });
    thread.setDaemon(true);
    thread.start();
  }

  @Test
  void cancelFromAnotherThread() {
    Tensor x = large();
    later(dl::cancel);
    assertThrows(CancelledException.class, () -> multiplyForEver(x));
    assertEquals(1, dl.full(1).toFloat() + 1); // the context is as good as before
    dl.cancel(); // hits the next call
    assertThrows(CancelledException.class, () -> x.sum());
    x.sum();
  }

  @Test
  void interruptEndsTheCallThatRuns() {
    Tensor x = large();
    Thread self = Thread.currentThread();
    later(self::interrupt);
    assertThrows(CancelledException.class, () -> multiplyForEver(x));
    assertTrue(self.isInterrupted(), "the thread stays interrupted");
    assertThrows(CancelledException.class, x::relu, "also for calls that are over at once");
    x.close(); // closing works
    assertTrue(Thread.interrupted());
    for (int i = 0; i < 1000; i++) {
      dl.full(1).close(); // and no late cancellation hits what comes then
    }
  }

  @Test
  void whatIsOpenCanBeClosedWhileInterrupted() {
    Tensor x = dl.tensor(new double[] {1, 2});
    Thread self = Thread.currentThread();
    assertThrows(
        CancelledException.class,
        () -> {
          try (Scope scope = dl.scope();
              Mode mode = dl.inference();
              Capture capture = dl.capture("g")) {
            Tensor y = capture.input("x", DType.F32, "[2]");
            self.interrupt();
            y.add(1);
          }
        });
    assertTrue(Thread.interrupted());
    assertThrows(
        CancelledException.class,
        () ->
            dl.jvp(
                in -> {
                  self.interrupt();
                  return in.get(0).relu();
                },
                List.of(x),
                List.of(x)));
    assertTrue(Thread.interrupted());
    assertTrue(dl.isRecording() && dl.isTraining());
    assertEquals(3, x.sum().toDouble()); // neither capturing nor inside a level
  }

  @Test
  void interruptEndsALoopOfShortCalls() {
    Tensor x = dl.full(4);
    later(Thread.currentThread()::interrupt);
    assertThrows(CancelledException.class, () -> multiplyForEver(x.reshape(2, 2)));
    assertTrue(Thread.interrupted());
  }

  @Test
  void timeout() {
    Tensor x = large();
    try (Mode limit = dl.timeout(Duration.ofMillis(50))) {
      assertThrows(DeadlineExceededException.class, () -> multiplyForEver(x));
      limit.close();
      limit.close();
      assertEquals(0, x.multiply(0).sum().toFloat());
    }
  }
}
