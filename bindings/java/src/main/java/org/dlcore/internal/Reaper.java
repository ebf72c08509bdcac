// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The net below what programs forget to close, and the thread that does what cannot be done at
 * once: it gives back what the collector found unreachable, and looks after contexts.
 */
public final class Reaper {
  /** Something that has to be looked at again and again. */
  public interface Watched {
    /** Called every {@value #PERIOD} ms. */
    void look();
  }

  private static final long PERIOD = 25;
  private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
  private static final Set<Object> NETS = ConcurrentHashMap.newKeySet();
  private static final Set<Watched> WATCHED = ConcurrentHashMap.newKeySet();

  static {
    Thread thread = new Thread(Reaper::run, "dlcore-reaper");
    thread.setDaemon(true);
    thread.setPriority(Thread.MAX_PRIORITY);
    thread.start();
  }

  private Reaper() {}

  /** Knows that the collector found an object unreachable. Whoever makes one keeps it reachable. */
  public abstract static class Net extends PhantomReference<Object> {
    protected Net(Object referent) {
      super(referent, QUEUE);
    }

    /** On the reaper's thread. */
    protected abstract void caught();
  }

  /** Closes a handle once nobody has `owner` any more. */
  public static void guard(Object owner, Handle handle) {
    NETS.add(new HandleNet(owner, handle));
  }

  private static final class HandleNet extends Net {
    private final Handle handle;

    HandleNet(Object owner, Handle handle) {
      super(owner);
      this.handle = handle;
    }

    @Override
    protected void caught() {
      NETS.remove(this);
      handle.close();
    }
  }

  /** Keeps a net of the caller's own reachable, or no longer. */
  public static void keep(Net net, boolean on) {
    if (on) {
      NETS.add(net);
    } else {
      NETS.remove(net);
    }
  }

  /** Looks at it from now on, or no longer. */
  public static void watch(Watched what, boolean on) {
    if (on) {
      WATCHED.add(what);
    } else {
      WATCHED.remove(what);
    }
  }

  private static void run() {
    while (true) {
      try {
        Object caught = QUEUE.remove(PERIOD);
        while (caught != null) {
          ((Net) caught).caught();
          caught = QUEUE.poll();
        }
        for (Watched watched : WATCHED) {
          watched.look();
        }
      } catch (InterruptedException | RuntimeException | Error error) {
        // The net must hold: whatever one object does, the others are still looked after.
        System.getLogger("org.dlcore").log(System.Logger.Level.WARNING, "reaper: " + error, error);
      }
    }
  }
}
