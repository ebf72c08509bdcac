// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"unsafe"

	"dlcore/internal/raw"
)

// Function makes one tensor from others by calls on a context.
type Function func(dl *Context, xs ...*Tensor) *Tensor

// GradOption is an option of [Context.Grad].
type GradOption func(*gradOptions)

type gradOptions struct {
	raw.GradOptions
	seeds []*Tensor
}

// Seeds weigh the outputs, by tensors of their shapes; without them outputs have one element each.
func Seeds(seeds ...*Tensor) GradOption { return func(o *gradOptions) { o.seeds = seeds } }

// CreateGraph gives the gradients a history of their own.
func CreateGraph() GradOption { return func(o *gradOptions) { o.GradOptions.CreateGraph = 1 } }

// RetainGraph lets the history be used again.
func RetainGraph() GradOption { return func(o *gradOptions) { o.GradOptions.RetainGraph = 1 } }

// AllowUnused makes the gradient of a tensor without influence nil, instead of an error.
func AllowUnused() GradOption { return func(o *gradOptions) { o.GradOptions.AllowUnused = 1 } }

// Grad is the gradient of the outputs, added up, with respect to each of wrt: leaves made by Watch or
// by reading a variable, or tensors on the way.
func (dl *Context) Grad(outputs, wrt []*Tensor, options ...GradOption) []*Tensor {
	var o gradOptions
	raw.GradOptionsInit(&o.GradOptions, uint64(unsafe.Sizeof(o.GradOptions)))
	for _, option := range options {
		option(&o)
	}
	gradients := make([]*Tensor, len(wrt))
	for i := range gradients {
		gradients[i] = dl.none
	}
	f := dl.begin("autograd_grad")
	defer f.end()
	from, to := f.tensors("outputs", outputs), f.tensors("wrt", wrt)
	var seeds *raw.Tensor
	if o.seeds != nil {
		if len(o.seeds) != len(outputs) {
			f.fail(InvalidArgument, "there are %d seeds, expected %d, one for each output", len(o.seeds), len(outputs))
		}
		handles := make([]raw.Tensor, len(o.seeds))
		for i, seed := range o.seeds {
			handles[i] = f.optional("seed", seed)
		}
		seeds = raw.Pointer(handles)
	}
	results := make([]raw.Tensor, len(wrt))
	if !f.ok() || !f.status(raw.AutogradGrad(f.ctx, raw.Pointer(from), int64(len(from)), raw.Pointer(to),
		int64(len(to)), seeds, &o.GradOptions, raw.Pointer(results))) {
		return gradients
	}
	for i, handle := range results {
		if gradients[i] = nil; handle != 0 {
			gradients[i] = f.made(handle)
		}
	}
	return gradients
}

// Watch is a leaf with the values of a tensor: gradients with respect to it can be asked for.
func (dl *Context) Watch(x *Tensor) *Tensor {
	f := dl.begin("autograd_watch")
	defer f.end()
	handle := f.tensor("x", x)
	if !f.ok() {
		return dl.none
	}
	return f.made(raw.AutogradWatch(f.ctx, handle))
}

// VJP is the value of a function and the gradients of <value, seed>; a nil seed is 1, for a value of
// one element.
func (dl *Context) VJP(function Function, seed *Tensor, xs ...*Tensor) (value *Tensor, gradients []*Tensor) {
	return dl.vjp(function, seed, xs)
}

func (dl *Context) vjp(function Function, seed *Tensor, xs []*Tensor, options ...GradOption) (*Tensor, []*Tensor) {
	leaves := make([]*Tensor, len(xs))
	for i, x := range xs {
		leaves[i] = dl.Watch(x)
	}
	value := function(dl, leaves...)
	if seed != nil {
		options = append(options, Seeds(seed))
	}
	gradients := dl.Grad([]*Tensor{value}, leaves, append(options, AllowUnused())...)
	for i, g := range gradients {
		if g == nil { // no influence
			gradients[i] = dl.Multiply(xs[i], 0)
		}
	}
	return value, gradients
}

// ValueAndGrad is the value of a function, which has one element, and its gradients.
func (dl *Context) ValueAndGrad(function Function, xs ...*Tensor) (value *Tensor, gradients []*Tensor) {
	return dl.vjp(function, nil, xs)
}

// JVP is the value of a function at xs and its derivative in the direction of tangents.
func (dl *Context) JVP(function Function, xs, tangents []*Tensor) (value, derivative *Tensor) {
	if len(xs) != len(tangents) {
		dl.stick(failure(InvalidArgument, "jvp: there are %d tangents, expected %d", len(tangents), len(xs)))
		return dl.none, dl.none
	}
	level := dl.OpenJVP()
	defer level.Close()
	lifted := make([]*Tensor, len(xs))
	for i, x := range xs {
		lifted[i] = level.Lift(x, tangents[i])
	}
	y := function(dl, lifted...)
	return level.Primal(y), level.Tangent(y)
}

// Vmap runs a function on each of the examples that lie along the first axis of all xs, and puts the
// results along the first axis.
func (dl *Context) Vmap(function Function, xs ...*Tensor) *Tensor {
	size := 0
	if len(xs) > 0 {
		size = xs[0].Dim(0)
	}
	level := dl.OpenVmap(size)
	defer level.Close()
	lifted := make([]*Tensor, len(xs))
	for i, x := range xs {
		lifted[i] = level.Lift(x, 0)
	}
	return level.Lower(function(dl, lifted...), 0)
}

// Hessian is the second derivatives of a function whose value has one element: of the shape of x twice.
func (dl *Context) Hessian(function Function, x *Tensor) *Tensor {
	scope := dl.Scope()
	defer scope.Close()
	leaf := dl.Watch(x)
	first := dl.Grad([]*Tensor{function(dl, leaf)}, []*Tensor{leaf}, CreateGraph(), AllowUnused())[0]
	shape := x.Shape()
	size := max(x.Size(), 0)
	twice := append(append([]int{}, shape...), shape...)
	if first == nil { // no influence
		return dl.Full(twice, 0, x.DType()).Keep()
	}
	basis := dl.Eye(size, x.DType())
	rows := make([]*Tensor, size)
	for i := range rows {
		seed := basis.Slice([]int{i}, []int{i + 1}).Reshape(shape)
		rows[i] = dl.Grad([]*Tensor{first}, []*Tensor{leaf}, Seeds(seed), RetainGraph(), AllowUnused())[0]
		if rows[i] == nil {
			rows[i] = dl.Full(shape, 0, x.DType())
		}
	}
	if size == 0 {
		return dl.Full(twice, 0, x.DType()).Keep()
	}
	return dl.Stack(rows, 0).Reshape(twice).Keep()
}

// Gradcheck compares the derivatives of a function of order 1, and 2, with differences at f64 inputs.
// A tolerance of 0 is 1e-6, and 1e-5 at order 2.
func (dl *Context) Gradcheck(function Function, order int, tolerance float64, xs ...*Tensor) error {
	f := dl.begin("gradcheck")
	defer f.end()
	inputs := f.tensors("xs", xs)
	if f.ok() {
		number, forget := callbackNumber(raw.GradcheckCall(func(ctx raw.Context, handles []raw.Tensor) (raw.Tensor, int32) {
			return dl.checked(function, ctx, handles)
		}))
		defer forget()
		f.status(raw.Gradcheck(f.ctx, raw.GradcheckFunction, number, raw.Pointer(inputs), int64(len(inputs)), int32(order),
			tolerance))
	}
	return f.outcome()
}

// checked runs a function on a child context, whose scope keeps the result for the library.
func (dl *Context) checked(function Function, ctx raw.Context, handles []raw.Tensor) (made raw.Tensor, status int32) {
	status = onChild(dl.c.engine, ctx, true, func(child *Context) error {
		xs := make([]*Tensor, len(handles))
		for i, handle := range handles {
			xs[i] = child.lend(handle)
		}
		y := function(child, xs...)
		for _, x := range xs {
			if x == y { // goes back when the callback ends
				y = y.Reshape(y.Shape())
			}
		}
		if y != nil && y.dl.c == child.c {
			made = y.open()
		}
		return nil
	})
	return made, status
}
