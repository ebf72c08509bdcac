// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"iter"

	"dlcore/internal/raw"
)

// Dataset is samples and labels that are still to be cut into batches.
type Dataset struct {
	dl   *Context
	open func(f *frame, batch int64, flags uint64) raw.Loader
}

// Data is the data set of a source like "idx:DIR/train"; see dlcore/data.h.
func (dl *Context) Data(source string) *Dataset {
	return &Dataset{dl, func(f *frame, batch int64, flags uint64) raw.Loader {
		text := f.text("source", source)
		if !f.ok() {
			return 0
		}
		return raw.LoaderOpen(f.ctx, text, batch, flags)
	}}
}

// FashionMNIST is its part "train" or "test": f32 [N, 784] between 0 and 1, and i64 labels [N].
func (dl *Context) FashionMNIST(part string) *Dataset { return dl.Data("fashion-mnist:" + part) }

// FromTensors is samples [N, ...] and labels [N, ...] from memory. They are looked at when the loader
// opens.
func (dl *Context) FromTensors(samples, labels *Tensor) *Dataset {
	return &Dataset{dl, func(f *frame, batch int64, flags uint64) raw.Loader {
		x, y := f.tensor("samples", samples), f.tensor("labels", labels)
		if !f.ok() {
			return 0
		}
		return raw.LoaderFromTensors(f.ctx, x, y, batch, flags)
	}}
}

// Batch cuts a data set into batches; the last one of an epoch may be smaller.
func (d *Dataset) Batch(size int) *Loader {
	return &Loader{set: d, size: int64(size), object: object[raw.Loader]{dl: d.dl}}
}

// Loader gives the batches of a data set, epoch after epoch. It opens at its first use, or by Open;
// the order of a shuffled one follows from the seed that the context has by then.
type Loader struct {
	object[raw.Loader]
	set      *Dataset
	size     int64
	flags    uint64
	prefetch int
	opened   bool
}

// Shuffle makes a new order for each epoch.
func (l *Loader) Shuffle() *Loader {
	l.configure("shuffle", func() { l.flags |= raw.LoaderShuffle })
	return l
}

// Prefetch prepares so many batches ahead, on a thread of the loader's own.
func (l *Loader) Prefetch(batches int) *Loader {
	l.configure("prefetch", func() { l.prefetch = batches })
	return l
}

func (l *Loader) configure(what string, set func()) {
	if l.opened {
		l.dl.stick(failure(FailedPrecondition, "%s: the loader is open already", what))
		return
	}
	set()
}

// Open opens the loader, which fails when the data is not there, and returns it.
func (l *Loader) Open() *Loader {
	if l.opened {
		return l
	}
	f := l.dl.begin("loader_open")
	defer f.end()
	if l.isClosed() {
		f.fail(FailedPrecondition, "the loader has been closed")
	}
	if !f.ok() {
		return l
	}
	handle := l.set.open(&f, l.size, l.flags)
	if handle == 0 && f.ok() {
		f.take(Internal)
	} else if handle != 0 && l.prefetch != 0 {
		f.status(raw.LoaderSetPrefetch(f.ctx, handle, int64(l.prefetch)))
	}
	l.opened = handle != 0
	if l.opened {
		l.hold(l.dl, handle, raw.LoaderRelease, l)
	}
	return l
}

// Next is the next batch: samples and labels. It is false at the end of an epoch, after which the next
// one starts, and on failure.
func (l *Loader) Next() (x, y *Tensor, ok bool) {
	l.Open()
	f := l.dl.begin("loader_next")
	defer f.end()
	handle := use(&f, "loader", &l.object)
	if !f.ok() {
		return l.dl.none, l.dl.none, false
	}
	var samples, labels raw.Tensor
	if raw.LoaderNext(f.ctx, handle, &samples, &labels) != 1 {
		f.check()
		return l.dl.none, l.dl.none, false
	}
	return f.made(samples), f.made(labels), true
}

// All are the batches from where the loader stands to the end of its epoch; the next loop goes on from
// there. Each turn is a scope: what it made goes back at the next one, and on break, return and panic.
func (l *Loader) All() iter.Seq2[*Tensor, *Tensor] {
	return func(yield func(x, y *Tensor) bool) {
		for l.turn(yield) {
		}
	}
}

func (l *Loader) turn(yield func(x, y *Tensor) bool) bool {
	scope := l.dl.Scope()
	defer scope.Close()
	x, y, ok := l.Next()
	return ok && yield(x, y)
}

// Seek starts an epoch, counted from 0, at one of its batches.
func (l *Loader) Seek(epoch, batch int) {
	l.Open()
	f := l.dl.begin("loader_seek")
	defer f.end()
	if handle := use(&f, "loader", &l.object); f.ok() {
		f.status(raw.LoaderSeek(f.ctx, handle, int64(epoch), int64(batch)))
	}
}

// Samples is how many samples an epoch has; -1 when the loader is closed or cannot be opened.
func (l *Loader) Samples() int { return l.ask(raw.LoaderSamples) }

// Batches is how many batches an epoch has; -1 when the loader is closed or cannot be opened.
func (l *Loader) Batches() int { return l.ask(raw.LoaderBatches) }

// Epoch is the one that the next batch belongs to; -1 when the loader is closed or cannot be opened.
func (l *Loader) Epoch() int { return l.ask(raw.LoaderEpoch) }

func (l *Loader) ask(read func(raw.Loader) int64) int {
	if l.Open(); !l.use() {
		return -1
	}
	defer l.done()
	return int(read(l.handle))
}
