// SPDX-License-Identifier: Apache-2.0

package raw

/*
#cgo noescape go_call_op
#cgo nocallback go_call_op
#cgo noescape go_call_scalar
#cgo nocallback go_call_scalar
#cgo noescape go_release_many
#cgo nocallback go_release_many
#include "call.h"
*/
import "C"

import "unsafe"

// InlineWords is how many words of attributes fit into a Call.
const InlineWords = 14

// Call is a call of a built-in op of at most three inputs and one result. It has the layout of go_call.
type Call struct {
	Ctx              Context
	Inputs           [3]Tensor
	Words            [InlineWords]int64
	Op               int32
	InputCount       int32
	WordCount        int32
	ScalarKind, Side int32
}

// Run calls the op; 0 on failure. The op must be built in: it may not call back into Go.
func (c *Call) Run() Tensor { return Tensor(C.go_call_op((*C.go_call)(unsafe.Pointer(c)))) }

// RunScalar calls a binary op with Inputs[0] and the weak scalar Words[0].
func (c *Call) RunScalar() Tensor { return Tensor(C.go_call_scalar((*C.go_call)(unsafe.Pointer(c)))) }

// ReleaseMany gives back all tensors in one crossing.
func ReleaseMany(tensors []Tensor) {
	if len(tensors) > 0 {
		C.go_release_many((*C.uintptr_t)(unsafe.Pointer(&tensors[0])), C.int64_t(len(tensors)))
	}
}
