// SPDX-License-Identifier: Apache-2.0

package dlcore

import "dlcore/internal/raw"

// Variable is a named cell that holds a tensor: a parameter, a running statistic, a learning rate.
// Its methods run on the context it was asked of; several goroutines may use it, each On its own.
type Variable struct {
	object[raw.Variable]
	of *Module // whose parameter it was asked for as
}

// NewVariable makes a trainable variable that starts with a value.
func NewVariable(dl *Context, name string, value *Tensor) *Variable {
	return newVariable(dl, name, value, raw.VariableTrainable)
}

// NewState makes a variable that optimizers leave alone.
func NewState(dl *Context, name string, value *Tensor) *Variable {
	return newVariable(dl, name, value, 0)
}

func newVariable(dl *Context, name string, value *Tensor, flags uint64) *Variable {
	f := dl.begin("variable_create")
	defer f.end()
	text, start := f.text("name", name), f.tensor("value", value)
	var handle raw.Variable
	if f.ok() {
		if handle = raw.VariableCreate(f.ctx, text, start, flags); handle == 0 {
			f.take(Internal)
		}
	}
	return dl.ownVariable(handle)
}

// variable shares a handle that another object lends.
func (dl *Context) variable(borrowed raw.Variable) *Variable {
	raw.VariableRetain(borrowed)
	return dl.ownVariable(borrowed)
}

func (dl *Context) ownVariable(handle raw.Variable) *Variable {
	v := &Variable{}
	v.hold(dl, handle, raw.VariableRelease, v)
	return v
}

// On is the same variable for another context of the same engine.
func (v *Variable) On(dl *Context) *Variable {
	f := dl.begin("on")
	defer f.end()
	return dl.variable(use(&f, "variable", &v.object))
}

// Name is what it was called when it was made; "" once it is closed.
func (v *Variable) Name() string {
	if !v.use() {
		return ""
	}
	defer v.done()
	return raw.VariableName(v.handle).String()
}

// Trainable is whether gradients and optimizers change it.
func (v *Variable) Trainable() bool {
	if !v.use() {
		return false
	}
	defer v.done()
	return raw.VariableIsTrainable(v.handle) == 1
}

// SetTrainable says whether gradients and optimizers change it.
func (v *Variable) SetTrainable(on bool) {
	f := v.dl.begin("variable_set_trainable")
	defer f.end()
	if handle := use(&f, "variable", &v.object); f.ok() {
		f.status(raw.VariableSetTrainable(f.ctx, handle, flag(on)))
	}
}

// Value is what it holds. While recording, that of a trainable variable is a leaf of the history.
func (v *Variable) Value() *Tensor {
	f := v.dl.begin("variable_read")
	defer f.end()
	handle := use(&f, "variable", &v.object)
	if !f.ok() {
		return v.dl.none
	}
	return f.made(raw.VariableRead(f.ctx, handle))
}

// Assign stores a value of the same dtype and shape.
func (v *Variable) Assign(value *Tensor) { v.store("variable_assign", value, raw.VariableAssign) }

// Accumulate adds to the value.
func (v *Variable) Accumulate(value *Tensor) {
	v.store("variable_accumulate", value, raw.VariableAccumulate)
}

func (v *Variable) store(what string, value *Tensor, store func(raw.Context, raw.Variable, raw.Tensor) int32) {
	f := v.dl.begin(what)
	defer f.end()
	handle, given := use(&f, "variable", &v.object), f.tensor("value", value)
	if f.ok() {
		f.status(store(f.ctx, handle, given))
	}
}

// Gradient is what Backward added up; nil when there is nothing.
func (v *Variable) Gradient() *Tensor {
	f := v.dl.begin("variable_gradient")
	defer f.end()
	handle := use(&f, "variable", &v.object)
	if !f.ok() {
		return v.dl.none
	}
	if gradient := raw.VariableGradient(f.ctx, handle); gradient != 0 || !f.check() {
		return f.gradient(gradient)
	}
	return nil
}

func (f *frame) gradient(handle raw.Tensor) *Tensor {
	if f.err != nil {
		return f.dl.none
	}
	return f.made(handle)
}

// SetGradient replaces the gradient; nil forgets it.
func (v *Variable) SetGradient(gradient *Tensor) {
	f := v.dl.begin("variable_set_gradient")
	defer f.end()
	handle, given := use(&f, "variable", &v.object), f.optional("gradient", gradient)
	if f.ok() {
		f.status(raw.VariableSetGradient(f.ctx, handle, given))
	}
}
