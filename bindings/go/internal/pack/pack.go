// SPDX-License-Identifier: Apache-2.0

// Package pack lays out the attributes of ops, layers, optimizers and schedules as words; see dlcore/op.h.
package pack

import (
	"encoding/binary"
	"math"
)

// Words are attributes in the order of a schema. The zero value holds none.
type Words struct {
	inline [14]int64 // enough for nearly every call, so that it costs no allocation
	count  int
	spill  []int64 // all of them, once there are more
}

// All returns the words, which live as long as w does.
func (w *Words) All() []int64 {
	if w.spill != nil {
		return w.spill
	}
	return w.inline[:w.count]
}

func (w *Words) put(word int64) {
	if w.spill == nil && w.count < len(w.inline) {
		w.inline[w.count] = word
		w.count++
		return
	}
	if w.spill == nil {
		w.spill = append(w.spill, w.inline[:]...)
	}
	w.spill = append(w.spill, word)
}

// Int appends an integer or a dtype.
func (w *Words) Int(v int) { w.put(int64(v)) }

// Bool appends 1 or 0.
func (w *Words) Bool(v bool) {
	if v {
		w.put(1)
	} else {
		w.put(0)
	}
}

// Float appends the bits of a number.
func (w *Words) Float(v float64) { w.put(int64(math.Float64bits(v))) }

// String appends the length in bytes, then the bytes padded to whole words.
func (w *Words) String(v string) {
	w.put(int64(len(v)))
	for len(v) > 0 {
		var word [8]byte
		v = v[copy(word[:], v):]
		w.put(int64(binary.NativeEndian.Uint64(word[:])))
	}
}

// Ints appends the length, then the integers.
func (w *Words) Ints(v []int) {
	w.put(int64(len(v)))
	for _, item := range v {
		w.put(int64(item))
	}
}

// Dims appends the length, then for each size its kind, a plain integer, and the integer.
func (w *Words) Dims(v []int) {
	w.put(int64(len(v)))
	for _, item := range v {
		w.put(0)
		w.put(int64(item))
	}
}

// present appends whether a value follows.
func (w *Words) present(is bool) bool {
	w.Bool(is)
	return is
}

// OptionalInt appends an integer that may be absent.
func (w *Words) OptionalInt(v *int) {
	if w.present(v != nil) {
		w.Int(*v)
	}
}

// OptionalFloat appends a number that may be absent.
func (w *Words) OptionalFloat(v *float64) {
	if w.present(v != nil) {
		w.Float(*v)
	}
}

// OptionalBool appends a truth value that may be absent.
func (w *Words) OptionalBool(v *bool) {
	if w.present(v != nil) {
		w.Bool(*v)
	}
}

// OptionalString appends a text that may be absent.
func (w *Words) OptionalString(v *string) {
	if w.present(v != nil) {
		w.String(*v)
	}
}

// OptionalInts appends a list that is absent when it is nil.
func (w *Words) OptionalInts(v []int) {
	if w.present(v != nil) {
		w.Ints(v)
	}
}

// OptionalDims appends a list that is absent when it is nil.
func (w *Words) OptionalDims(v []int) {
	if w.present(v != nil) {
		w.Dims(v)
	}
}
