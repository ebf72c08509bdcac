// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"dlcore/internal/raw"
)

// Tensor is an immutable array of one dtype. Its methods run on the context that made it.
type Tensor struct {
	handle uintptr // 0 once it is closed; atomic
	dl     *Context
	scope  *Scope // that gives it back
	shared bool   // a reference of our own, also on a context that owns what it makes

	// Once it is closed and waits for its reference to be given back:
	waiting int32 // as many with it
	given   raw.Tensor
	before  *Tensor
}

// open is the handle; 0 once the tensor is closed.
func (t *Tensor) open() raw.Tensor { return raw.Tensor(atomic.LoadUintptr(&t.handle)) }

// take is the handle for the one who closes the tensor.
func (t *Tensor) take() raw.Tensor { return raw.Tensor(atomic.SwapUintptr(&t.handle, 0)) }

// Description is what is known of a tensor without its elements.
type Description struct {
	DType        DType
	Shape        []int // a size of -1 is not known yet: the tensor is of a capture
	Strides      []int // in elements
	Device       string
	Weak         bool // takes the dtype of what it meets
	Contiguous   bool
	RequiresGrad bool // has history, or is a leaf
	Symbolic     bool // of a capture: it has no elements
}

// Close gives the tensor back before its scope does; a call that uses it at this moment ends as usual.
// Closing it again does nothing.
func (t *Tensor) Close() {
	if handle := t.take(); handle != 0 {
		t.dl.c.discard(t, handle)
	}
}

// collect leaves the tensor, which was allocated alone, to the garbage collector.
func (t *Tensor) collect() { runtime.SetFinalizer(t, (*Tensor).Close) }

// Keep moves the tensor into the scope around its own, and returns it.
func (t *Tensor) Keep() *Tensor {
	c := t.dl.c
	if !c.enter() {
		t.dl.stick(c.refusal("keep"))
		return t
	}
	defer c.leave()
	if s := t.scope; s != nil && s.outer != nil && t.open() != 0 {
		last := len(s.tensors) - 1
		for i := last; i >= 0; i-- { // mostly it is one of the latest
			if s.tensors[i] == t {
				s.tensors[i], s.tensors[last] = s.tensors[last], nil
				s.tensors = s.tensors[:last]
				break
			}
		}
		outer := s.outer
		for outer.collected && outer.outer != nil { // it has no list; tensors in it are the collector's
			outer = outer.outer
		}
		outer.add(t)
	}
	return t
}

// Context is where the methods of the tensor run.
func (t *Tensor) Context() *Context { return t.dl }

// On is the same tensor for another context of the same engine. It belongs to that context's innermost
// scope.
func (t *Tensor) On(dl *Context) *Tensor {
	f := dl.begin("on")
	defer f.end()
	if !f.ok() {
		return dl.none
	}
	if !t.dl.c.engine.is(dl.c.engine) {
		f.fail(InvalidArgument, "the tensor belongs to another engine")
		return dl.none
	}
	handle, ok := t.share()
	if !ok {
		f.err = t.closed("on")
		return dl.none
	}
	return f.adopt(handle)
}

// share is a reference of its own.
func (t *Tensor) share() (raw.Tensor, bool) {
	t.dl.c.mu.Lock()
	defer t.dl.c.mu.Unlock()
	handle := t.open()
	raw.TensorRetain(handle)
	return handle, handle != 0
}

func (t *Tensor) closed(what string) *Error {
	if err := t.dl.err.Load(); err != nil && t == t.dl.none {
		return err
	}
	return failure(FailedPrecondition, "%s: the tensor has been closed", what)
}

// Describe reads all of a tensor but its elements.
func (t *Tensor) Describe() (Description, error) {
	var d raw.TensorDescription
	d.StructSize = uint32(unsafe.Sizeof(d))
	f := t.dl.always("tensor_describe")
	defer f.end()
	if !f.ok() {
		return Description{}, f.err
	}
	if t.open() == 0 {
		return Description{}, t.closed("tensor_describe")
	}
	if !f.status(raw.TensorDescribe(f.ctx, t.open(), &d)) {
		return Description{}, f.err
	}
	return Description{
		DType: DType(d.Dtype), Shape: ints(d.Shape[:d.Rank]), Strides: ints(d.Strides[:d.Rank]),
		Device: text(d.Device[:]), Weak: d.IsWeak == 1, Contiguous: d.IsContiguous == 1,
		RequiresGrad: d.RequiresGrad == 1, Symbolic: d.IsSymbolic == 1,
	}, nil
}

// look reads something that cannot fail, on any goroutine.
func look[T any](t *Tensor, read func(raw.Tensor) T) T {
	t.dl.c.mu.Lock()
	defer t.dl.c.mu.Unlock()
	return read(t.open())
}

// DType is the type of the elements; 0 once the tensor is closed.
func (t *Tensor) DType() DType { return DType(look(t, raw.TensorDtype)) }

// Rank is the number of axes; -1 once the tensor is closed.
func (t *Tensor) Rank() int { return int(look(t, raw.TensorRank)) }

// Size is the number of elements; -1 once the tensor is closed, and in a capture.
func (t *Tensor) Size() int { return int(look(t, raw.TensorCount)) }

// Dim is the size of an axis, counted from the end when negative; -1 when there is no such axis.
func (t *Tensor) Dim(axis int) int {
	return int(look(t, func(h raw.Tensor) int64 { return raw.TensorDim(h, int32(axis)) }))
}

// Shape is the size of each axis; nil once the tensor is closed.
func (t *Tensor) Shape() []int {
	return look(t, func(h raw.Tensor) []int {
		rank := raw.TensorRank(h)
		if rank < 0 {
			return nil
		}
		shape := make([]int, rank)
		for i := range shape {
			shape[i] = int(raw.TensorDim(h, int32(i)))
		}
		return shape
	})
}

// String renders dtype, shape, device and the first elements.
func (t *Tensor) String() string {
	f := t.dl.always("tensor_to_string")
	defer f.end()
	if !f.ok() || t.open() == 0 {
		return "closed tensor"
	}
	return f.twoCalls(func(buffer *byte, size int64) int64 {
		return raw.TensorToString(f.ctx, t.open(), buffer, size)
	})
}

// GoString is String, for %#v.
func (t *Tensor) GoString() string { return fmt.Sprintf("dlcore.Tensor(%s)", t) }

// ToDevice has the same values on another device of the engine.
func (t *Tensor) ToDevice(device string) *Tensor {
	f := t.dl.begin("tensor_to_device")
	defer f.end()
	handle, text := f.tensor("tensor", t), f.text("device", device)
	if !f.ok() {
		return t.dl.none
	}
	return f.made(raw.TensorToDevice(f.ctx, handle, text))
}

// Backward adds the gradients of this one element to those of the variables it depends on.
func (t *Tensor) Backward() {
	f := t.dl.begin("backward")
	defer f.end()
	if handle := f.tensor("loss", t); f.ok() {
		f.status(raw.Backward(f.ctx, handle))
	}
}

func ints(list []int64) []int {
	converted := make([]int, len(list))
	for i, v := range list {
		converted[i] = int(v)
	}
	return converted
}

func int64s(list []int) []int64 {
	converted := make([]int64, len(list))
	for i, v := range list {
		converted[i] = int64(v)
	}
	return converted
}
