// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"io"

	"dlcore/internal/raw"
)

// What modules and checkpoints have in common: a file, a stream or bytes that they are saved to and
// loaded from. `noun` is what errors call the object, `what` is the call.

func byFile[H ~uintptr](o *object[H], noun, what, path string, do func(raw.Context, H, *byte) int32) error {
	f := o.dl.begin(what)
	defer f.end()
	handle, text := use(&f, noun, o), f.text("path", path)
	if f.ok() {
		f.status(do(f.ctx, handle, text))
	}
	return f.outcome()
}

func toWriter[H ~uintptr](o *object[H], noun, what string, w io.Writer,
	do func(raw.Context, H, uintptr, uintptr) int32) error {
	return byStream(o, noun, what, raw.WriteFunction, func() *stream { return writing(w) }, do)
}

func fromReader[H ~uintptr](o *object[H], noun, what string, r io.Reader,
	do func(raw.Context, H, uintptr, uintptr) int32) error {
	return byStream(o, noun, what, raw.ReadFunction, func() *stream { return reading(r) }, do)
}

func byStream[H ~uintptr](o *object[H], noun, what string, function uintptr, open func() *stream,
	do func(raw.Context, H, uintptr, uintptr) int32) error {
	f := o.dl.begin(what)
	defer f.end()
	if handle := use(&f, noun, o); f.ok() {
		s := open()
		f.status(do(f.ctx, handle, function, s.number))
		s.end(&f)
	}
	return f.outcome()
}

func fromBytes[H ~uintptr](o *object[H], noun, what string, data []byte,
	do func(raw.Context, H, *byte, uint64) int32) error {
	f := o.dl.begin(what)
	defer f.end()
	if handle := use(&f, noun, o); f.ok() {
		f.status(do(f.ctx, handle, raw.Pointer(data), uint64(len(data))))
	}
	return f.outcome()
}
