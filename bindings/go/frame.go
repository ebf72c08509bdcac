// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"strings"

	"dlcore/internal/raw"
)

// frame is a call in progress: it is inside the context, holds what the call uses, and collects why
// the call cannot be made.
type frame struct {
	dl      *Context
	ctx     raw.Context
	what    string
	err     *Error
	inside  bool
	watched bool
	held    []*users
}

// begin enters a context, unless an error sticks to it. The caller ends the frame in any case, and
// calls the library only when the frame is ok.
func (dl *Context) begin(what string) frame {
	if dl.err.Load() != nil {
		return frame{dl: dl, what: what}
	}
	return dl.always(what)
}

// always enters a context despite an error that sticks to it.
func (dl *Context) always(what string) frame {
	f := frame{dl: dl, what: what}
	if !dl.c.enter() {
		f.err = dl.c.refusal(what)
		return f
	}
	f.inside, f.ctx = true, dl.c.handle
	if dl.watch != nil {
		f.err = dl.watch.start(what)
		f.watched = f.err == nil
	}
	return f
}

// end leaves the context.
func (f *frame) end() {
	for _, u := range f.held {
		u.done()
	}
	if f.watched {
		f.dl.watch.stop(f.ctx)
	}
	if f.inside {
		f.dl.c.leave()
	}
	if f.err != nil {
		f.dl.stick(f.err)
	}
}

// ok is whether the call can be made.
func (f *frame) ok() bool { return f.inside && f.err == nil }

func (f *frame) fail(code Code, format string, arguments ...any) {
	if f.inside && f.err == nil {
		f.err = failure(code, "%s: %s", f.what, fmt.Sprintf(format, arguments...))
	}
}

// tensor is the handle of an argument.
func (f *frame) tensor(name string, t *Tensor) raw.Tensor {
	if t == nil {
		f.fail(InvalidArgument, "%s is nil", name)
		return 0
	}
	if t.dl.c != f.dl.c {
		f.fail(InvalidArgument, "%s belongs to another context; use %s.On", name, name)
		return 0
	}
	handle := t.open()
	if handle == 0 {
		f.fail(FailedPrecondition, "%s has been closed", name)
	}
	return handle
}

// optional is the handle of an argument that may be nil.
func (f *frame) optional(name string, t *Tensor) raw.Tensor {
	if t == nil {
		return 0
	}
	return f.tensor(name, t)
}

func (f *frame) tensors(name string, list []*Tensor) []raw.Tensor {
	handles := make([]raw.Tensor, len(list))
	for i, t := range list {
		handles[i] = f.tensor(fmt.Sprintf("%s[%d]", name, i), t)
	}
	return handles
}

// use is the handle of an object, which stays valid until the frame ends.
func use[H ~uintptr](f *frame, name string, o *object[H]) H {
	if o == nil {
		f.fail(InvalidArgument, "%s is nil", name)
		return 0
	}
	if !f.ok() {
		return 0
	}
	if !o.dl.c.engine.is(f.dl.c.engine) {
		f.fail(InvalidArgument, "%s belongs to another engine", name)
		return 0
	}
	if !o.users.use() {
		f.fail(FailedPrecondition, "%s has been closed", name)
		return 0
	}
	f.held = append(f.held, &o.users)
	return o.handle
}

// text is a string as the library takes it.
func (f *frame) text(name, s string) *byte {
	if strings.IndexByte(s, 0) >= 0 {
		f.fail(InvalidArgument, "%s holds a NUL character: it is %q", name, s)
	}
	return raw.Text(s)
}

// check takes the error of a call that may have left one.
func (f *frame) check() bool { return f.status(raw.ContextStatus(f.ctx)) }

// status takes the error of a call that returned a code other than 0.
func (f *frame) status(code int32) bool {
	if code == 0 {
		return true
	}
	f.take(Code(code))
	return false
}

// take moves the error that a call left on the library's context into the frame.
func (f *frame) take(code Code) {
	if handle := raw.ContextTakeError(f.ctx); handle != 0 {
		e := taken(handle)
		f.dl.c.engine.failures.restore(e)
		f.err = f.dl.explain(e)
	} else {
		f.fail(code, "failed with %s", code)
	}
}

// made is the tensor of a new handle, or of a call that failed.
func (f *frame) made(handle raw.Tensor) *Tensor {
	if handle == 0 {
		f.take(Internal)
		return f.dl.none
	}
	return f.dl.tensor(handle)
}

// adopt is the tensor of a reference of our own.
func (f *frame) adopt(handle raw.Tensor) *Tensor {
	t := f.made(handle)
	t.shared = handle != 0
	return t
}

// twoCalls reads a text that the library copies out.
func (f *frame) twoCalls(read func(buffer *byte, size int64) int64) string {
	size := read(nil, 0)
	if size <= 0 {
		f.take(Internal)
		return ""
	}
	buffer := make([]byte, size)
	read(&buffer[0], size)
	return string(buffer[:size-1])
}

// refusal says why a call may not enter.
func (c *core) refusal(what string) *Error {
	if c.state.Load()&closing != 0 {
		return failure(FailedPrecondition, "%s: the context has been closed", what)
	}
	return failure(FailedPrecondition, "%s: the context is in use by another goroutine; give each its own", what)
}
