// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"io"
	"maps"
	"slices"

	"dlcore/internal/raw"
)

// Archive is tensors by name, read from the safetensors format.
type Archive struct{ object[raw.Archive] }

// SaveTensors writes tensors under their names; the file is replaced as a whole or not at all.
func (dl *Context) SaveTensors(path string, tensors map[string]*Tensor) error {
	f := dl.begin("archive_save")
	defer f.end()
	text := f.text("path", path)
	names, handles, free := f.named(tensors)
	defer free()
	if f.ok() {
		f.status(raw.ArchiveSave(f.ctx, text, raw.Pointer(names), raw.Pointer(handles), int64(len(names))))
	}
	return f.outcome()
}

// WriteTensors writes what SaveTensors would.
func (dl *Context) WriteTensors(w io.Writer, tensors map[string]*Tensor) error {
	f := dl.begin("archive_write")
	defer f.end()
	names, handles, free := f.named(tensors)
	defer free()
	if f.ok() {
		s := writing(w)
		f.status(raw.ArchiveWrite(f.ctx, raw.WriteFunction, s.number, raw.Pointer(names), raw.Pointer(handles),
			int64(len(names))))
		s.end(&f)
	}
	return f.outcome()
}

// named copies the names to memory of C.
func (f *frame) named(tensors map[string]*Tensor) (names []uintptr, handles []raw.Tensor, free func()) {
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		f.text("name", name)
		handles = append(handles, f.tensor(name, tensors[name]))
		names = append(names, raw.CText(name))
	}
	return names, handles, func() {
		for _, name := range names {
			raw.Free(name)
		}
	}
}

// OpenArchive opens a file.
func (dl *Context) OpenArchive(path string) *Archive {
	f := dl.begin("archive_open")
	defer f.end()
	var handle raw.Archive
	if text := f.text("path", path); f.ok() {
		handle = raw.ArchiveOpen(f.ctx, text)
	}
	return f.archive(handle)
}

// ReadArchive reads one to its end.
func (dl *Context) ReadArchive(r io.Reader) *Archive {
	f := dl.begin("archive_open_stream")
	defer f.end()
	var handle raw.Archive
	if f.ok() {
		s := reading(r)
		handle = raw.ArchiveOpenStream(f.ctx, raw.ReadFunction, s.number)
		if handle == 0 {
			f.take(Internal)
		}
		s.end(&f)
	}
	return f.archive(handle)
}

// ArchiveOf is one in memory, which is copied.
func (dl *Context) ArchiveOf(data []byte) *Archive {
	f := dl.begin("archive_open_buffer")
	defer f.end()
	var handle raw.Archive
	if f.ok() {
		handle = raw.ArchiveOpenBuffer(f.ctx, raw.Pointer(data), uint64(len(data)))
	}
	return f.archive(handle)
}

func (f *frame) archive(handle raw.Archive) *Archive {
	if handle == 0 && f.ok() {
		f.take(Internal)
	}
	a := &Archive{}
	a.hold(f.dl, handle, raw.ArchiveRelease, a)
	return a
}

// Names are those of the tensors, sorted; none once it is closed.
func (a *Archive) Names() []string {
	if !a.use() {
		return nil
	}
	defer a.done()
	names := make([]string, raw.ArchiveCount(a.handle))
	for i := range names {
		names[i] = raw.ArchiveName(a.handle, int64(i)).String()
	}
	return names
}

// Tensor is one of them, on the device of the context.
func (a *Archive) Tensor(name string) *Tensor {
	f := a.dl.begin("archive_tensor")
	defer f.end()
	handle, text := use(&f, "archive", &a.object), f.text("name", name)
	if !f.ok() {
		return a.dl.none
	}
	return f.made(raw.ArchiveTensor(f.ctx, handle, text))
}
