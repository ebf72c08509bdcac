// SPDX-License-Identifier: Apache-2.0

package dlcore

import "dlcore/internal/raw"

// JVP is a level of forward mode, open on a context. Levels nest as a stack.
type JVP struct{ level }

// Vmap is a level that vectorises over independent examples, open on a context.
type Vmap struct{ level }

type level struct {
	dl     *Context
	handle raw.Transform
}

// OpenJVP opens a level of forward mode.
func (dl *Context) OpenJVP() *JVP {
	return &JVP{dl.openLevel("jvp_open", raw.JvpOpen)}
}

// OpenVmap opens a level over so many examples. Random ops draw a value for each.
func (dl *Context) OpenVmap(size int) *Vmap {
	return &Vmap{dl.openLevel("vmap_open", func(ctx raw.Context) raw.Transform {
		return raw.VmapOpen(ctx, int64(size))
	})}
}

func (dl *Context) openLevel(what string, open func(raw.Context) raw.Transform) level {
	f := dl.begin(what)
	defer f.end()
	var handle raw.Transform
	if f.ok() {
		if handle = open(f.ctx); handle == 0 {
			f.take(Internal)
		}
	}
	return level{dl, handle}
}

// Close ends the level, which must be the innermost one. Its tensors can then only be closed. Closing it
// again does nothing.
func (l *level) Close() {
	f := l.dl.always("transform_close")
	defer f.end()
	if f.ok() && l.handle != 0 && f.status(raw.TransformClose(f.ctx, l.handle)) {
		l.handle = 0
	}
}

func (l *level) run(what string, t *Tensor, do func(ctx raw.Context, level raw.Transform, t raw.Tensor) raw.Tensor) *Tensor {
	f := l.dl.begin(what)
	defer f.end()
	handle := f.tensor("tensor", t)
	if l.handle == 0 {
		f.fail(FailedPrecondition, "the level has been closed")
	}
	if !f.ok() {
		return l.dl.none
	}
	return f.made(do(f.ctx, l.handle, handle))
}

// Lift is a tensor with a direction of the same dtype and shape.
func (l *JVP) Lift(primal, tangent *Tensor) *Tensor {
	f := l.dl.begin("jvp_lift")
	defer f.end()
	x, direction := f.tensor("primal", primal), f.tensor("tangent", tangent)
	if l.handle == 0 {
		f.fail(FailedPrecondition, "the level has been closed")
	}
	if !f.ok() {
		return l.dl.none
	}
	return f.made(raw.JvpLift(f.ctx, l.handle, x, direction))
}

// Primal is the value of a result.
func (l *JVP) Primal(y *Tensor) *Tensor { return l.run("jvp_primal", y, raw.JvpPrimal) }

// Tangent is the derivative of a result; zeros when it does not depend on a lifted tensor.
func (l *JVP) Tangent(y *Tensor) *Tensor { return l.run("jvp_tangent", y, raw.JvpTangent) }

// Lift is a tensor seen without an axis that has the level's size.
func (l *Vmap) Lift(x *Tensor, axis int) *Tensor {
	return l.run("vmap_lift", x, func(ctx raw.Context, level raw.Transform, t raw.Tensor) raw.Tensor {
		return raw.VmapLift(ctx, level, t, int64(axis))
	})
}

// Lower is a result with the examples put back as an axis.
func (l *Vmap) Lower(y *Tensor, axis int) *Tensor {
	return l.run("vmap_lower", y, func(ctx raw.Context, level raw.Transform, t raw.Tensor) raw.Tensor {
		return raw.VmapLower(ctx, level, t, int64(axis))
	})
}
