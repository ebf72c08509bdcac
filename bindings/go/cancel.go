// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"context"
	"sync"

	"dlcore/internal/raw"
)

// With returns a view of the context whose calls end when done does: the call that runs fails with
// [Cancelled] or [DeadlineExceeded], and later ones at once. The view has an error of its own, so that
// a request that failed leaves the context as it was:
//
//	request := dl.With(r.Context())
//	y := model.Call(request.Tensor(pixels, 1, 784))
//
// Tensors of both may meet; a method runs on the view its receiver was made with, see [Tensor.On].
func (dl *Context) With(done context.Context) *Context {
	view := dl.c.view(dl.root)
	view.watch = &watch{done: done, c: dl.c}
	view.watch.forget = context.AfterFunc(done, view.watch.cancel)
	return view
}

// watch cancels the calls of one view, and no others on the same context.
type watch struct {
	done    context.Context
	forget  func() bool
	c       *core
	mu      sync.Mutex
	running bool
	fired   bool
}

func (w *watch) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running {
		w.fired = true
		raw.ContextCancel(w.c.handle) // a call is inside, so that it is open
	}
}

// start says that a call begins.
func (w *watch) start(what string) *Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done.Err() != nil {
		return w.explain(what)
	}
	w.running = true
	return nil
}

// stop says that it has ended. A cancellation that came too late for it must not meet the next one.
func (w *watch) stop(ctx raw.Context) {
	w.mu.Lock()
	fired := w.fired
	w.running, w.fired = false, false
	w.mu.Unlock()
	if fired {
		raw.ContextSynchronize(ctx)
		raw.ContextClearError(ctx)
	}
}

func (w *watch) explain(what string) *Error {
	cause := context.Cause(w.done)
	e := asError(w.done.Err())
	return &Error{Code: e.Code, Message: what + ": " + cause.Error(), Cause: cause}
}

// explain gives a cancellation the cause that the program knows.
func (dl *Context) explain(e *Error) *Error {
	if dl.watch == nil || e.Code != Cancelled || dl.watch.done.Err() == nil {
		return e
	}
	known := dl.watch.explain(e.Message)
	known.Op = e.Op
	return known
}
