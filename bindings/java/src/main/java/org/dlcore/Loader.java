// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicReference;
import org.dlcore.internal.Access;
import org.dlcore.internal.Handle;
import org.dlcore.internal.Raw;

/**
 * Batches of samples, epoch after epoch. A loop over it takes up where it stands and ends with the
 * epoch. Each turn is a scope: what it made goes back when the next one starts.
 */
public final class Loader implements Iterable<Batch>, AutoCloseable {
  private final Dataset data;
  private final long size;
  private boolean shuffle;
  private long prefetch;
  private volatile Opened opened;
  private volatile boolean closed;
  // The turn that is open, or was when its loop was left; whoever ends it takes it out.
  private final AtomicReference<Scope> turn = new AtomicReference<>();

  /** The loader of the engine. */
  private static final class Opened extends Resource {
    Opened(Context context, Handle handle) {
      super(context, handle);
    }
  }

  Loader(Dataset data, long size) {
    this.data = data;
    this.size = size;
  }

  /**
   * Takes the samples in a new order in each epoch. To be said before the loader is used.
   *
   * @return this loader
   */
  public Loader shuffle() {
    if (opened != null) {
      throw new FailedPreconditionException("loader: shuffle comes before its first use");
    }
    shuffle = true;
    return this;
  }

  /**
   * Prepares batches ahead, on a thread of the loader's own. Batches and their order stay the same.
   *
   * @param batches how many, 0 to 1024
   * @return this loader
   */
  public Loader prefetch(long batches) {
    prefetch = batches;
    if (opened != null) {
      setPrefetch();
    }
    return this;
  }

  private void setPrefetch() {
    Access.get()
        .status(
            data.context,
            opened,
            (ctx, self) -> Raw.dlcore_loader_set_prefetch(ctx, self, prefetch));
  }

  /**
   * Reads the data now, which is done at the first use otherwise.
   *
   * @return this loader
   */
  public Loader open() {
    resource();
    return this;
  }

  private synchronized Opened resource() {
    if (closed) {
      throw new FailedPreconditionException("loader: it is closed");
    }
    if (opened == null) {
      Context dl = data.context;
      int flags = shuffle ? Raw.DLCORE_LOADER_SHUFFLE : 0;
      long made =
          Access.get()
              .made(
                  dl,
                  null,
                  (ctx, self) ->
                      data.source != null
                          ? Raw.dlcore_loader_open(ctx, data.source, size, flags)
                          : Raw.dlcore_loader_from_tensors(
                              ctx, dl.handle(data.samples), dl.handle(data.labels), size, flags));
      opened = new Opened(dl, dl.core.own(Handle.Kind.LOADER, made));
      if (prefetch != 0) {
        setPrefetch();
      }
    }
    return opened;
  }

  /**
   * Samples in an epoch.
   *
   * @return the number
   */
  public long samples() {
    return value((ctx, self) -> Raw.dlcore_loader_samples(self));
  }

  /**
   * Batches in an epoch.
   *
   * @return the number
   */
  public long batches() {
    return value((ctx, self) -> Raw.dlcore_loader_batches(self));
  }

  /**
   * The epoch it is in.
   *
   * @return counted from 0
   */
  public long epoch() {
    return value((ctx, self) -> Raw.dlcore_loader_epoch(self));
  }

  private long value(Access.Call call) {
    return Access.get().value(data.context, resource(), call);
  }

  /**
   * Goes to a batch of an epoch.
   *
   * @param epoch counted from 0
   * @param batch counted from 0
   */
  public void seek(long epoch, long batch) {
    Access.get()
        .status(
            data.context,
            resource(),
            (ctx, self) -> Raw.dlcore_loader_seek(ctx, self, epoch, batch));
  }

  /**
   * The rest of the epoch, or the next one. A turn that an earlier loop left open is ended.
   *
   * @return batches, each of which ends the turn before it
   */
  @Override
  public Iterator<Batch> iterator() {
    endTurn();
    return new Turns();
  }

  private void endTurn() {
    Scope ended = turn.getAndSet(null);
    if (ended != null) {
      ended.close();
    }
  }

  private final class Turns implements Iterator<Batch> {
    private Batch next;
    private boolean ended;

    @Override
    public boolean hasNext() {
      if (next == null && !ended) {
        endTurn();
        next = read();
        ended = next == null;
      }
      return next != null;
    }

    @Override
    public Batch next() {
      if (!hasNext()) {
        throw new NoSuchElementException("loader: the epoch is over");
      }
      Batch batch = next;
      next = null;
      return batch;
    }
  }

  /** The next batch, in a scope of its own; null at the end of the epoch. */
  private Batch read() {
    Context dl = data.context;
    Scope scope = dl.scope();
    Batch[] batch = new Batch[1];
    try {
      Access.get()
          .value(
              dl,
              resource(),
              (ctx, self) -> {
                long results = dl.core.reserve(2);
                if (Raw.dlcore_loader_next(ctx, self, results, results + 8) == 1) {
                  long y = dl.core.word(1);
                  batch[0] = new Batch(dl.made(dl.core.word(0)), dl.made(y), scope);
                } else if (Raw.dlcore_ok(ctx) == 0) {
                  throw dl.core.failure();
                }
                return 0;
              });
    } finally {
      if (batch[0] == null) {
        scope.close();
      }
    }
    turn.set(batch[0] == null ? null : scope);
    return batch[0];
  }

  /** The open loader, for a checkpoint. */
  Resource loader() {
    return resource();
  }

  /**
   * Whether it was closed.
   *
   * @return true after {@link #close}, or after its context was closed
   */
  public boolean isClosed() {
    return closed || opened != null && opened.isClosed();
  }

  /** Ends its turn and closes it; closing it again does nothing. */
  @Override
  public void close() {
    Opened last;
    synchronized (this) {
      closed = true;
      last = opened;
    }
    endTurn();
    if (last != null) {
      last.close();
    }
  }
}
