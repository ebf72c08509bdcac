// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"math"
	"slices"

	"dlcore/internal/pack"
	"dlcore/internal/raw"
)

// Operand is a *Tensor, or a number or bool that takes the dtype of the tensors it meets.
type Operand any

// firstCustom is the first number that ops get when they are registered. Such ops may call into Go.
const firstCustom = 1 << 20

func (dl *Context) call0(op int32, words *pack.Words) *Tensor {
	c := raw.Call{Op: op}
	return dl.call(&c, nil, nil, nil, words)
}

func (dl *Context) call1(op int32, a *Tensor, words *pack.Words) *Tensor {
	c := raw.Call{Op: op, InputCount: 1}
	return dl.call(&c, a, nil, nil, words)
}

func (dl *Context) call2(op int32, a, b *Tensor, words *pack.Words) *Tensor {
	c := raw.Call{Op: op, InputCount: 2}
	return dl.call(&c, a, b, nil, words)
}

func (dl *Context) call3(op int32, a, b, third *Tensor, words *pack.Words) *Tensor {
	c := raw.Call{Op: op, InputCount: 3}
	return dl.call(&c, a, b, third, words)
}

// call runs a built-in op with at most three inputs and one result, in one crossing. c and words stay on
// the stack, since what leaves this path is a copy.
func (dl *Context) call(c *raw.Call, a, b, third *Tensor, words *pack.Words) *Tensor {
	if words != nil {
		list := words.All()
		if len(list) > len(c.Words) {
			return dl.invoke(c.Op, []*Tensor{a, b, third}[:c.InputCount], slices.Clone(list), 1)[0]
		}
		c.WordCount = int32(copy(c.Words[:], list))
	}
	if dl.err.Load() != nil {
		return dl.none
	}
	if dl.watch != nil || !dl.c.enter() {
		return dl.invoke(c.Op, []*Tensor{a, b, third}[:c.InputCount], slices.Clone(c.Words[:c.WordCount]), 1)[0]
	}
	c.Ctx = dl.c.handle
	var bad *Error
	switch c.InputCount {
	case 3:
		c.Inputs[2], bad = dl.input(c, third, 2, bad)
		fallthrough
	case 2:
		c.Inputs[1], bad = dl.input(c, b, 1, bad)
		fallthrough
	case 1:
		c.Inputs[0], bad = dl.input(c, a, 0, bad)
	}
	if bad != nil {
		dl.c.leave()
		dl.stick(bad)
		return dl.none
	}
	return dl.result(c, c.Run())
}

// input is the handle of a tensor that an op is given; nil is an input that is absent.
func (dl *Context) input(c *raw.Call, t *Tensor, index int, bad *Error) (raw.Tensor, *Error) {
	if t == nil {
		return none, bad
	}
	if t.dl.c != dl.c {
		return 0, failure(InvalidArgument, "%s: input %d belongs to another context; use its On", dl.opName(c.Op), index)
	}
	handle := t.open()
	if handle == 0 {
		return 0, failure(FailedPrecondition, "%s: input %d has been closed", dl.opName(c.Op), index)
	}
	return handle, bad
}

var none = raw.TensorNone()

// opName is called inside the context.
func (dl *Context) opName(op int32) string {
	if name := raw.OpName(dl.c.handle, op).String(); name != "" {
		return name
	}
	return fmt.Sprintf("op %d", op)
}

// result leaves the context with the result of a call.
func (dl *Context) result(c *raw.Call, handle raw.Tensor) *Tensor {
	if handle == 0 {
		return dl.failed(c.Ctx)
	}
	t := dl.tensor(handle)
	dl.c.leave()
	return t
}

func (dl *Context) failed(ctx raw.Context) *Tensor {
	f := frame{dl: dl, ctx: ctx, what: "op_call", inside: true}
	f.take(Internal)
	f.end()
	return dl.none
}

// callBinary runs a binary op, of which one operand may be a number.
func (dl *Context) callBinary(op int32, a, b Operand) *Tensor {
	x, isTensor := a.(*Tensor)
	y, other := b.(*Tensor)
	if isTensor == other {
		if !isTensor {
			return dl.callOperands(op, a, b)
		}
		return dl.call2(op, x, y, nil)
	}
	c := raw.Call{Op: op}
	number := b
	if other {
		c.Side, x, number = 1, y, a
	}
	kind, word, ok := weak(number)
	if !ok || x == nil || dl.watch != nil {
		return dl.callOperands(op, a, b)
	}
	if dl.err.Load() != nil {
		return dl.none
	}
	if !dl.c.enter() {
		return dl.callOperands(op, a, b)
	}
	c.Ctx, c.ScalarKind, c.Words[0] = dl.c.handle, kind, word
	var bad *Error
	if c.Inputs[0], bad = dl.input(&c, x, int(c.Side), nil); bad != nil {
		dl.c.leave()
		dl.stick(bad)
		return dl.none
	}
	return dl.result(&c, c.RunScalar())
}

// callOperands runs an op whose operands may be numbers.
func (dl *Context) callOperands(op int32, operands ...Operand) *Tensor {
	inputs := make([]*Tensor, len(operands))
	for i, operand := range operands {
		switch v := operand.(type) {
		case *Tensor:
			inputs[i] = v
		default:
			kind, word, ok := weak(v)
			if !ok {
				f := dl.begin("operand")
				f.fail(InvalidArgument, "operand %d of op %d is a %T, expected a *Tensor or a number", i, op, operand)
				f.end()
				return dl.none
			}
			inputs[i] = dl.weak(kind, word)
		}
	}
	return dl.invoke(op, inputs, nil, 1)[0]
}

// weak is a number as the library's kind of scalar and word.
func weak(v any) (kind int32, word int64, ok bool) {
	switch v := v.(type) {
	case int:
		return raw.ScalarI64, int64(v), true
	case float64:
		return raw.ScalarF64, int64(math.Float64bits(v)), true
	case float32:
		return raw.ScalarF64, int64(math.Float64bits(float64(v))), true
	case int64:
		return raw.ScalarI64, v, true
	case int32:
		return raw.ScalarI64, int64(v), true
	case int16:
		return raw.ScalarI64, int64(v), true
	case int8:
		return raw.ScalarI64, int64(v), true
	case uint8:
		return raw.ScalarI64, int64(v), true
	case bool:
		return raw.ScalarBool, int64(flag(v)), true
	}
	return 0, 0, false
}

// Weak is a scalar that takes the dtype of the operands it meets: a number or a bool.
func (dl *Context) Weak(value any) *Tensor {
	kind, word, ok := weak(value)
	if !ok {
		f := dl.begin("weak")
		f.fail(InvalidArgument, "value is a %T, expected a number", value)
		f.end()
		return dl.none
	}
	return dl.weak(kind, word)
}

func (dl *Context) weak(kind int32, word int64) *Tensor {
	f := dl.begin("weak")
	defer f.end()
	if !f.ok() {
		return dl.none
	}
	switch kind {
	case raw.ScalarI64:
		return f.made(raw.TensorWeakI64(f.ctx, word))
	case raw.ScalarF64:
		return f.made(raw.TensorWeakF64(f.ctx, math.Float64frombits(uint64(word))))
	}
	return f.made(raw.TensorWeakBool(f.ctx, uint8(word)))
}

// invoke runs any op, also one that calls into Go.
func (dl *Context) invoke(op int32, inputs []*Tensor, words []int64, outputs int) []*Tensor {
	made := make([]*Tensor, outputs)
	for i := range made {
		made[i] = dl.none
	}
	f := dl.begin("op_invoke")
	defer f.end()
	handles, results := make([]raw.Tensor, len(inputs)), make([]raw.Tensor, outputs)
	c := raw.Call{Op: op}
	for i, t := range inputs {
		if !f.ok() {
			return made
		}
		handles[i], f.err = dl.input(&c, t, i, nil)
	}
	if !f.ok() || !f.status(raw.OpInvoke(f.ctx, op, raw.Pointer(handles), int32(len(handles)), raw.Pointer(words),
		int64(len(words)), raw.Pointer(results), int32(outputs), 0)) {
		return made
	}
	for i, handle := range results {
		made[i] = f.made(handle)
	}
	return made
}

// Call runs an op by its number with packed attributes, as dlcore/op.h describes them: an op that was
// registered, or one newer than this package. An input may be nil where it may be absent.
func (dl *Context) Call(op Op, inputs []*Tensor, words []int64, outputs int) []*Tensor {
	if outputs < 0 {
		dl.stick(failure(InvalidArgument, "op_invoke: outputs is %d, expected 0 or more", outputs))
		return nil
	}
	return dl.invoke(int32(op), inputs, words, outputs)
}
