// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"sync/atomic"

	"dlcore/internal/raw"
)

// Context is the execution state of one goroutine's work: device, random generator, modes, scopes,
// error. It may move between goroutines and threads, but serves one call at a time; give each
// goroutine a context of its own, on one engine.
//
// Errors stick: after the first failure, further calls do nothing, and return tensors and objects
// that are good for nothing but to be handed on. What leaves the engine returns that error, and so
// does Err, until TakeErr clears it.
type Context struct {
	c     *core
	root  *Scope // of c
	err   atomic.Pointer[Error]
	watch *watch  // nil when nothing cancels it; see With
	none  *Tensor // what failed calls return
}

// Open opens an engine with one context, which closes it.
func Open(device string, options ...ContextOption) (*Context, error) {
	engine, err := OpenEngine()
	if err != nil {
		return nil, err
	}
	dl, err := engine.Context(device, options...)
	if err != nil {
		engine.Close()
		return nil, err
	}
	dl.c.owner = true
	return dl, nil
}

// ContextOption is an option of [Open] and [Engine.Context].
type ContextOption func(*contextOptions)

type contextOptions struct {
	seed  uint64
	flags uint64
}

// Seed decides every random number and every initial parameter; 0 by default.
func Seed(seed uint64) ContextOption { return func(o *contextOptions) { o.seed = seed } }

// Inferring opens a context that keeps no history and in which layers behave as in use.
func Inferring() ContextOption {
	return func(o *contextOptions) { o.flags |= raw.ContextInference }
}

// Context opens a context on a device of the engine: "cpu", or one that a plug-in added.
func (e *Engine) Context(device string, options ...ContextOption) (*Context, error) {
	o := contextOptions{flags: raw.ContextManual}
	for _, option := range options {
		option(&o)
	}
	if !e.users.use() {
		return nil, failure(FailedPrecondition, "context_open: the engine has been closed")
	}
	defer e.users.done()
	if err := noNUL("context_open", "device", device); err != nil {
		return nil, err
	}
	var failed raw.Error
	handle := raw.ContextOpen(e.handle, raw.Text(device), o.seed, o.flags, &failed)
	if failed != 0 {
		return nil, taken(failed)
	}
	return newContext(&core{engine: e, handle: handle, device: device}), nil
}

func newContext(c *core) *Context {
	root := &Scope{c: c}
	c.scope = root
	root.dl = c.view(root)
	return root.dl
}

// view makes a Context with an error of its own.
func (c *core) view(root *Scope) *Context {
	dl := &Context{c: c, root: root}
	dl.none = &Tensor{dl: dl}
	return dl
}

// Close ends the context and everything it made. A call that runs on another goroutine ends as usual
// first. Closing it again does nothing. Closing a view that With made ends only the view.
func (dl *Context) Close() {
	if dl.watch != nil {
		dl.watch.forget()
		return
	}
	dl.c.close()
}

// Engine is what the context runs on.
func (dl *Context) Engine() *Engine { return dl.c.engine }

// Device is the name of the device it runs on.
func (dl *Context) Device() string { return dl.c.device }

// Err returns the error that sticks to the context, nil when there is none.
func (dl *Context) Err() error {
	if err := dl.err.Load(); err != nil {
		return err
	}
	return nil
}

// TakeErr returns the error that sticks to the context and clears it: calls run again.
func (dl *Context) TakeErr() error {
	if err := dl.err.Swap(nil); err != nil {
		return err
	}
	return nil
}

// Fail makes an error of the program stick, as if a call had failed, unless one does already.
func (dl *Context) Fail(err error) {
	if err != nil {
		dl.stick(asError(err))
	}
}

func (dl *Context) stick(err *Error) { dl.err.CompareAndSwap(nil, err) }

// Cancel makes the call that runs, or else the next one, fail with [Cancelled]. It may be called from
// any goroutine.
func (dl *Context) Cancel() {
	dl.c.mu.Lock()
	defer dl.c.mu.Unlock()
	if !dl.c.ended {
		raw.ContextCancel(dl.c.handle)
	}
}

// Synchronize waits until the device has done everything that the context gave it.
func (dl *Context) Synchronize() error {
	f := dl.begin("context_synchronize")
	if f.ok() {
		f.status(raw.ContextSynchronize(f.ctx))
	}
	f.end()
	return dl.Err()
}

// SetSeed starts the generator anew.
func (dl *Context) SetSeed(seed uint64) {
	f := dl.begin("context_set_seed")
	defer f.end()
	if f.ok() {
		f.status(raw.ContextSetSeed(f.ctx, seed))
	}
}

// Generator is the state of the generator: seed, generator and number of the next call, as i64 [3].
func (dl *Context) Generator() *Variable {
	f := dl.begin("context_generator")
	defer f.end()
	if !f.ok() {
		return dl.variable(0)
	}
	handle := raw.ContextGenerator(f.ctx)
	if handle == 0 {
		f.take(Internal)
	}
	return dl.variable(handle)
}

// SetDataDirectory says where data sets are looked for first; "" for nowhere in particular.
func (dl *Context) SetDataDirectory(directory string) {
	f := dl.begin("context_set_data_directory")
	defer f.end()
	var text *byte
	if directory != "" {
		text = f.text("directory", directory)
	}
	if f.ok() {
		f.status(raw.ContextSetDataDirectory(f.ctx, text))
	}
}

// Recording is whether calls keep history for gradients.
func (dl *Context) Recording() bool { return dl.mode("context_is_recording", raw.ContextIsRecording) }

// Training is whether layers behave as in training.
func (dl *Context) Training() bool { return dl.mode("context_is_training", raw.ContextIsTraining) }

func (dl *Context) mode(what string, ask func(raw.Context) int32) bool {
	f := dl.always(what)
	defer f.end()
	return f.ok() && ask(f.ctx) == 1
}

// SetRecording switches the keeping of history, and returns what it was.
func (dl *Context) SetRecording(on bool) bool {
	return dl.setMode("context_set_recording", on, raw.ContextSetRecording)
}

// SetTraining switches between training and use of layers, and returns what it was.
func (dl *Context) SetTraining(on bool) bool {
	return dl.setMode("context_set_training", on, raw.ContextSetTraining)
}

func (dl *Context) setMode(what string, on bool, set func(raw.Context, int32) int32) bool {
	f := dl.always(what)
	defer f.end()
	return f.ok() && set(f.ctx, flag(on)) == 1
}

// NoGrad runs a function without keeping history.
func (dl *Context) NoGrad(run func()) {
	defer dl.SetRecording(dl.SetRecording(false))
	run()
}

// Inference runs a function without keeping history, and with layers as in use.
func (dl *Context) Inference(run func()) {
	defer dl.SetTraining(dl.SetTraining(false))
	dl.NoGrad(run)
}

func flag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}
