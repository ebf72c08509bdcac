// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"slices"

	"dlcore/internal/raw"
)

// Optimizer updates variables from their gradients. Package dlcore/optim makes them.
type Optimizer struct {
	object[raw.Optimizer]
	family family
}

// NewOptimizer makes the optimizer of a number of the catalogue; package dlcore/optim has a function
// for each.
func NewOptimizer(dl *Context, optimizer int32, parameters []*Variable, words []int64) *Optimizer {
	f := dl.begin("optimizer_create")
	defer f.end()
	variables := f.variables(parameters)
	modules := f.wholeModules(parameters, variables)
	var handle raw.Optimizer
	if f.ok() {
		handle = raw.OptimizerCreate(f.ctx, optimizer, raw.Pointer(modules), int64(len(modules)), raw.Pointer(words),
			int64(len(words)))
		if handle == 0 {
			f.take(Internal)
		} else if len(modules) == 0 && !f.status(raw.OptimizerAddGroup(f.ctx, handle, raw.Pointer(variables),
			int64(len(variables)), raw.Pointer(words), int64(len(words)))) {
			raw.OptimizerRelease(handle)
			handle = 0
		}
	}
	o := &Optimizer{}
	o.hold(dl, handle, func(handle raw.Optimizer) {
		o.family.close()
		raw.OptimizerRelease(handle)
	}, o)
	return o
}

func (f *frame) variables(list []*Variable) []raw.Variable {
	handles := make([]raw.Variable, len(list))
	for i, v := range list {
		handles[i] = use(f, fmt.Sprintf("variable %d", i), part(v, (*Variable).self))
	}
	return handles
}

// wholeModules are the modules whose parameters the variables are, all of them and in order; none when
// they are anything else. Modules make the first group, so that checkpoints are the same in every
// language.
func (f *frame) wholeModules(list []*Variable, handles []raw.Variable) []raw.Module {
	var modules []raw.Module
	var all []raw.Variable
	for len(all) < len(handles) && f.ok() {
		of := list[len(all)].of
		if of == nil || !of.use() {
			return nil
		}
		f.held = append(f.held, &of.users)
		before := len(all)
		for i := range raw.ModuleVariableCount(of.handle) {
			if v := raw.ModuleVariable(f.ctx, of.handle, i); raw.VariableIsTrainable(v) == 1 {
				all = append(all, v)
			}
		}
		if len(all) == before {
			return nil
		}
		modules = append(modules, of.handle)
	}
	if !slices.Equal(all, handles) {
		return nil
	}
	return modules
}

// AddGroup adds variables with attributes of their own; package dlcore/optim has a function for each
// optimizer.
func (o *Optimizer) AddGroup(parameters []*Variable, words []int64) {
	f := o.dl.begin("optimizer_add_group")
	defer f.end()
	handle, variables := use(&f, "optimizer", &o.object), f.variables(parameters)
	if f.ok() {
		f.status(raw.OptimizerAddGroup(f.ctx, handle, raw.Pointer(variables), int64(len(variables)),
			raw.Pointer(words), int64(len(words))))
	}
}

// Step applies the gradients and forgets them, wholly or not at all.
func (o *Optimizer) Step() { o.do("optimizer_step", raw.OptimizerStep) }

// StepKeep applies the gradients and leaves them.
func (o *Optimizer) StepKeep() { o.do("optimizer_step_keep", raw.OptimizerStepKeep) }

// ZeroGradients forgets the gradients.
func (o *Optimizer) ZeroGradients() {
	o.do("optimizer_zero_gradients", raw.OptimizerZeroGradients)
}

func (o *Optimizer) do(what string, do func(raw.Context, raw.Optimizer) int32) {
	f := o.dl.begin(what)
	defer f.end()
	if handle := use(&f, "optimizer", &o.object); f.ok() {
		f.status(do(f.ctx, handle))
	}
}

// ClipGradients scales all gradients so that their norm together is at most maxNorm, and returns what
// it was.
func (o *Optimizer) ClipGradients(maxNorm float64) *Tensor {
	f := o.dl.begin("optimizer_clip_gradients")
	defer f.end()
	handle := use(&f, "optimizer", &o.object)
	if !f.ok() {
		return o.dl.none
	}
	return f.made(raw.OptimizerClipGradients(f.ctx, handle, maxNorm))
}

// Groups is the number of groups; 0 once it is closed.
func (o *Optimizer) Groups() int {
	if !o.use() {
		return 0
	}
	defer o.done()
	return int(raw.OptimizerGroupCount(o.handle))
}

// LearningRate is that of a group: an f64 variable of rank 0.
func (o *Optimizer) LearningRate(group int) *Variable {
	return o.variable("optimizer_learning_rate", int64(group), raw.OptimizerLearningRate)
}

// State are the learning rates, step counts and moments, in a fixed order.
func (o *Optimizer) State() []*Variable {
	if !o.use() {
		return nil
	}
	defer o.done()
	state := make([]*Variable, raw.OptimizerVariableCount(o.handle))
	for i := range state {
		state[i] = o.variable("optimizer_variable", int64(i), raw.OptimizerVariable)
	}
	return state
}

func (o *Optimizer) variable(what string, index int64,
	ask func(raw.Context, raw.Optimizer, int64) raw.Variable) *Variable {
	f := o.dl.begin(what)
	defer f.end()
	var variable raw.Variable
	if handle := use(&f, "optimizer", &o.object); f.ok() {
		if variable = ask(f.ctx, handle, index); variable == 0 {
			f.take(Internal)
		}
	}
	return o.family.variable(o.dl, variable)
}

// SetLearningRate replaces the learning rate of all groups.
func (o *Optimizer) SetLearningRate(lr float64) {
	scope := o.dl.Scope()
	defer scope.Close()
	for group := range o.Groups() {
		o.LearningRate(group).Assign(o.dl.Tensor(lr))
	}
}
