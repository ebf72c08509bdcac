// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"runtime/cgo"

	"dlcore/internal/raw"
)

// Op is the number of an op.
type Op int32

// FindOp is the number of the op of that name, also of one that another language registered on this
// engine.
func (dl *Context) FindOp(name string) (Op, error) {
	const catalogueOfOps = 0
	f := dl.begin("catalogue_find")
	defer f.end()
	var number int32
	if text := f.text("name", name); f.ok() {
		if number = raw.CatalogueFind(f.ctx, catalogueOfOps, text); number < 0 {
			f.take(NotFound)
		}
	}
	return Op(number), f.outcome()
}

// OpName is the name of an op, "" for a number that is none.
func (dl *Context) OpName(op Op) string {
	f := dl.always("op_name")
	defer f.end()
	if !f.ok() {
		return ""
	}
	return raw.OpName(f.ctx, int32(op)).String()
}

// HasKernel is whether the device runs the op for that dtype by a kernel of its own.
func (dl *Context) HasKernel(op Op, dtype DType) bool {
	f := dl.always("op_has_kernel")
	defer f.end()
	return f.ok() && raw.OpHasKernel(f.ctx, int32(op), int32(dtype)) == 1
}

// CatalogueJSON describes all ops, layers, optimizers and schedules.
func CatalogueJSON() string { return raw.CatalogueJson(nil).String() }

// CustomOp is an op written in Go. Its functions run on the calling goroutine, with a context for
// their own calls; tensors of another context are brought to it by On. What they return or panic with
// becomes the error of the call. Written in ops, Backward is itself differentiable.
type CustomOp struct {
	Name       string
	Inputs     int
	Outputs    int
	Attributes int // words of attributes, all of them integers

	// Infer sets dtype and shape of each output. It must not look at elements.
	Infer func(dl *Context, call *OpCall) error
	// Forward sets each output.
	Forward func(dl *Context, call *OpCall) error
	// Backward sets the gradients of the inputs that need one; nil when there are none.
	Backward func(dl *Context, call *OpCall) error
}

// Register adds an op to the engine, and returns its number for [Context.Call].
func (dl *Context) Register(op CustomOp) (Op, error) {
	f := dl.begin("op_register")
	defer f.end()
	name := f.text("name", op.Name)
	if op.Infer == nil || op.Forward == nil {
		f.fail(InvalidArgument, "%s lacks Infer or Forward", op.Name)
	}
	if !f.ok() {
		return 0, f.outcome()
	}
	engine := dl.c.engine
	engine.sweep()
	var functions raw.OpFunctions
	for phase, function := range []func(*Context, *OpCall) error{op.Infer, op.Forward, op.Backward} {
		functions[phase] = func(child raw.Context, call raw.OpCall) int32 {
			return onChild(engine, child, false, func(dl *Context) error { return function(dl, &OpCall{dl, call}) })
		}
	}
	backward := uintptr(0)
	if op.Backward != nil {
		backward = raw.BackwardFunction
	}
	var number int32
	f.status(raw.OpRegister(f.ctx, name, int32(op.Inputs), int32(op.Outputs), int32(op.Attributes), raw.InferFunction,
		raw.ForwardFunction, backward, uintptr(cgo.NewHandle(&functions)), raw.DestroyFunction, &number))
	return Op(number), f.outcome()
}

// OpCall is what a function of a custom op sees of the call; it ends with the function.
type OpCall struct {
	dl     *Context
	handle raw.OpCall
}

// InputCount is the number of inputs.
func (c *OpCall) InputCount() int { return int(raw.OpCallInputCount(c.handle)) }

// Input is an input; nil when it is absent.
func (c *OpCall) Input(index int) *Tensor { return c.dl.lend(raw.OpCallInput(c.handle, int32(index))) }

// Output is an output, in Backward.
func (c *OpCall) Output(index int) *Tensor {
	return c.dl.lend(raw.OpCallOutput(c.handle, int32(index)))
}

// Gradient came to an output, in Backward; nil when none did.
func (c *OpCall) Gradient(index int) *Tensor {
	return c.dl.lend(raw.OpCallGradient(c.handle, int32(index)))
}

// NeedsGradient is whether the gradient of that input is asked for.
func (c *OpCall) NeedsGradient(index int) bool {
	return raw.OpCallNeedsGradient(c.handle, int32(index)) == 1
}

// Attribute is a word of the attributes.
func (c *OpCall) Attribute(index int) int64 { return raw.OpCallAttr(c.handle, int32(index)) }

// SetOutputType says in Infer what an output will be.
func (c *OpCall) SetOutputType(index int, dtype DType, shape []int) {
	dims := int64s(shape)
	c.report(func(f *frame) int32 {
		return raw.OpCallSetOutputType(c.handle, int32(index), int32(dtype), raw.Pointer(dims), int32(len(dims)))
	})
}

// SetOutputLike says in Infer that an output will have the dtype and shape of a tensor.
func (c *OpCall) SetOutputLike(index int, like *Tensor) {
	c.set("like", like, func(h raw.Tensor) int32 { return raw.OpCallSetOutputLike(c.handle, int32(index), h) })
}

// SetOutput sets an output in Forward.
func (c *OpCall) SetOutput(index int, value *Tensor) {
	c.set("value", value, func(h raw.Tensor) int32 { return raw.OpCallSetOutput(c.handle, int32(index), h) })
}

// SetInputGradient sets the gradient of an input in Backward.
func (c *OpCall) SetInputGradient(index int, value *Tensor) {
	c.set("value", value, func(h raw.Tensor) int32 { return raw.OpCallSetInputGradient(c.handle, int32(index), h) })
}

func (c *OpCall) set(name string, t *Tensor, do func(raw.Tensor) int32) {
	var handle raw.Tensor
	c.report(func(f *frame) int32 {
		if handle = f.tensor(name, t); !f.ok() {
			return 0
		}
		return do(handle)
	})
}

// report makes the failure of a setter stick to the child context.
func (c *OpCall) report(set func(f *frame) int32) {
	f := c.dl.begin("op_call")
	defer f.end()
	if f.ok() {
		f.status(set(&f))
	}
}
