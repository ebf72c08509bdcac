// SPDX-License-Identifier: Apache-2.0

package raw

/*
#include "callbacks.h"
static inline void *go_pointer(uintptr_t address) { return (void *)address; }
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// What callbacks are given to the library as; their user_data is a cgo.Handle of the types below.
var (
	WriteFunction     = uintptr(C.go_write)
	ReadFunction      = uintptr(C.go_read)
	InferFunction     = uintptr(C.go_infer)
	ForwardFunction   = uintptr(C.go_forward)
	BackwardFunction  = uintptr(C.go_backward)
	ModuleFunction    = uintptr(C.go_module)
	GradcheckFunction = uintptr(C.go_gradcheck)
	DestroyFunction   = uintptr(C.go_destroy)
)

// Writer takes data, and Reader fills a buffer, which are valid during the call; see dlcore/base.h.
type (
	Writer func(data []byte) int32
	Reader func(buffer []byte) int64
)

// OpFunctions are the callbacks of a custom op by phase: infer, forward, backward.
type OpFunctions [3]func(child Context, call OpCall) int32

// ModuleForward is what a module of the program's own computes.
type ModuleForward func(child Context, module Module, call OpCall) int32

// GradcheckCall makes a tensor from inputs.
type GradcheckCall func(ctx Context, inputs []Tensor) (Tensor, int32)

//export goWrite
func goWrite(number, data C.uintptr_t, size C.uint64_t) C.int32_t {
	return C.int32_t(cgo.Handle(number).Value().(Writer)(memory(data, size)))
}

//export goRead
func goRead(number, buffer C.uintptr_t, size C.uint64_t) C.int64_t {
	return C.int64_t(cgo.Handle(number).Value().(Reader)(memory(buffer, size)))
}

//export goOp
func goOp(number C.uintptr_t, phase C.int32_t, child, call C.uintptr_t) C.int32_t {
	return C.int32_t(cgo.Handle(number).Value().(*OpFunctions)[phase](Context(child), OpCall(call)))
}

//export goModule
func goModule(number, child, module, call C.uintptr_t) C.int32_t {
	return C.int32_t(cgo.Handle(number).Value().(ModuleForward)(Context(child), Module(module), OpCall(call)))
}

//export goGradcheck
func goGradcheck(number, ctx, inputs C.uintptr_t, count C.int64_t, output *C.uintptr_t) C.int32_t {
	handles := unsafe.Slice((*Tensor)(C.go_pointer(inputs)), int(count))
	made, status := cgo.Handle(number).Value().(GradcheckCall)(Context(ctx), handles)
	*output = C.uintptr_t(made)
	return C.int32_t(status)
}

func memory(address C.uintptr_t, size C.uint64_t) []byte {
	return unsafe.Slice((*byte)(C.go_pointer(address)), int(size))
}

// DropDestroyed forgets the callbacks that the library has destroyed.
func DropDestroyed() {
	for {
		number := C.go_next_destroyed()
		if number == 0 {
			return
		}
		cgo.Handle(number).Delete()
	}
}
