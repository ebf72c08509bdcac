// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.io.PrintStream;
import java.util.Iterator;
import java.util.Locale;

/**
 * A loop over a loader that shows how far it is: a bar that moves on a terminal, a line at the end
 * elsewhere.
 *
 * <pre>{@code
 * for (Batch b : Progress.of(train, "epoch 1")) { ... }
 * }</pre>
 */
public final class Progress implements Iterable<Batch> {
  private static final int WIDTH = 24;
  private static final long REDRAW_NS = 100_000_000;

  private final Loader loader;
  private final String title;
  private final PrintStream out;
  private final boolean live;
  private String note = "";
  private long seen;
  private long start;
  private long drawn;

  private Progress(Loader loader, String title, PrintStream out, boolean live) {
    this.loader = loader;
    this.title = title;
    this.out = out;
    this.live = live;
  }

  /**
   * Shows the progress of a loop.
   *
   * @param loader what the loop goes over
   * @param title what to write before the bar
   * @return what to loop over instead
   */
  public static Progress of(Loader loader, String title) {
    return new Progress(loader, title, System.out, onTerminal());
  }

  static Progress of(Loader loader, String title, PrintStream out, boolean live) {
    return new Progress(loader, title, out, live);
  }

  private static boolean onTerminal() {
    java.io.Console console = System.console();
    if (console == null) {
      return false;
    }
    try { // From Java 22 on there is a console also where there is no terminal.
      return (boolean) java.io.Console.class.getMethod("isTerminal").invoke(console);
    } catch (ReflectiveOperationException error) {
      return true;
    }
  }

  /**
   * Shows something beside the bar, from now on.
   *
   * @param text what to show, like {@code loss 0.4210}
   */
  public void note(String text) {
    note = text;
  }

  @Override
  public Iterator<Batch> iterator() {
    Iterator<Batch> batches = loader.iterator();
    start = System.nanoTime();
    seen = 0;
    return new Iterator<>() {
      private boolean over;

      @Override
      public boolean hasNext() {
        if (batches.hasNext()) {
          return true;
        }
        if (!over) {
          over = true;
          end();
        }
        return false;
      }

      @Override
      public Batch next() {
        Batch batch = batches.next();
        seen += batch.x().dim(0);
        draw();
        return batch;
      }
    };
  }

  private void draw() {
    long now = System.nanoTime();
    if (live && now - drawn >= REDRAW_NS) {
      drawn = now;
      int filled = (int) (WIDTH * seen / Math.max(loader.samples(), 1));
      out.printf(
          "\r%s [%s%s] %d/%d  %s",
          title, "#".repeat(filled), " ".repeat(WIDTH - filled), seen, loader.samples(), note);
      out.flush();
    }
  }

  /** Ends the line; a loop that is left early may call it, too. */
  public void end() {
    out.printf(
        Locale.ROOT,
        "%s%s  %d samples  %s  %.1f s%s%n",
        live ? "\r" : "",
        title,
        seen,
        note,
        1e-9 * (System.nanoTime() - start),
        live ? "\u001b[K" : "");
  }
}
