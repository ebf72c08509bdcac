// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"runtime/cgo"

	"dlcore/internal/raw"
)

// guarded runs a callback of the program; a panic in it becomes an error with its text.
func guarded(run func() error) (err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			text := fmt.Sprintf("panic: %v", recovered)
			cause, _ := recovered.(error)
			err = &Error{Code: Internal, Message: text, Cause: cause}
		}
	}()
	return run()
}

// onChild runs a callback with the context that the library lends it, and leaves its failure there. A
// scoped one owns what is made on it.
func onChild(engine *Engine, handle raw.Context, scoped bool, run func(dl *Context) error) int32 {
	dl := newContext(&core{
		engine: engine, handle: handle, device: raw.ContextDevice(handle).String(), borrowed: true, scoped: scoped,
	})
	defer dl.Close()
	err := guarded(func() error {
		if err := run(dl); err != nil {
			return err
		}
		return dl.Err()
	})
	if err == nil {
		return 0
	}
	known := asError(err)
	return raw.ContextSetError(handle, int32(known.Code), raw.Text(known.Message))
}

// lend is a tensor that the library lends to a callback.
func (dl *Context) lend(handle raw.Tensor) *Tensor {
	f := dl.begin("callback")
	defer f.end()
	if handle == 0 || !f.ok() {
		return nil
	}
	raw.TensorRetain(handle)
	return f.adopt(handle)
}

// sweep forgets the callbacks that the library needs no more.
func (e *Engine) sweep() {
	raw.EngineCollect(e.handle)
	raw.DropDestroyed()
}

// callbackNumber is how the library refers to a Go value for the time of a call.
func callbackNumber(value any) (number uintptr, forget func()) {
	handle := cgo.NewHandle(value)
	return uintptr(handle), handle.Delete
}
