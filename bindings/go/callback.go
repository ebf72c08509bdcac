// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"runtime/cgo"
	"sync"

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
	engine.failures.keep(known)
	return raw.ContextSetError(handle, int32(known.Code), raw.Text(known.Message))
}

// failures are the last errors of callbacks. The library carries their texts; what else the program put
// into them is found again here.
type failures struct {
	mu   sync.Mutex
	last []*Error
}

func (l *failures) keep(e *Error) {
	const kept = 64
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, e)
	if len(l.last) > kept {
		l.last = append(l.last[:0], l.last[len(l.last)-kept/2:]...)
	}
}

// restore replaces the cause that began a chain by the error it was made of.
func (l *failures) restore(e *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		cause, ok := e.Cause.(*Error)
		if !ok {
			return
		}
		for _, known := range l.last {
			if known.Code == cause.Code && known.Message == cause.Message {
				e.Cause = known
				return
			}
		}
		e = cause
	}
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
