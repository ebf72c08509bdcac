// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"sync"
	"sync/atomic"

	"dlcore/internal/raw"
)

// core is a context of the library. One call at a time is inside; whoever comes meanwhile is refused
// here, so that handles and scopes need no lock during a call.
type core struct {
	engine *Engine
	handle raw.Context
	device string
	state  atomic.Uint32

	// Of the call that is inside.
	scope *Scope
	spare []*Tensor // memory of a closed scope's list
	fresh []Tensor  // not yet used; one allocation makes several

	mu      sync.Mutex   // for what other goroutines may do at any time:
	pending []raw.Tensor // given back, but maybe in use by the call that is inside
	ended   bool         // the handle is gone

	borrowed bool // a child context of a callback: the library ends it
	scoped   bool // it owns what its calls make, as a context with scopes of the library does
	owner    bool // of the engine, too
	warned   bool
}

const (
	busy     = 1
	closing  = 2
	batch    = 64     // tensors that go back in one crossing
	leakSize = 10_000 // tensors outside scopes that are worth a warning
)

func (c *core) enter() bool { return c.state.CompareAndSwap(0, busy) }

func (c *core) leave() {
	if c.state.Add(^uint32(0)) == closing {
		c.end()
	}
}

// close ends the context, now or at the end of the call that is inside.
func (c *core) close() {
	for {
		state := c.state.Load()
		if state&closing != 0 {
			return
		}
		if c.state.CompareAndSwap(state, state|closing) {
			if state == 0 {
				c.end()
			}
			return
		}
	}
}

// end is called once, when no call is inside nor ever will be.
func (c *core) end() {
	for c.scope != nil {
		c.scope.end()
	}
	c.flush()
	c.mu.Lock()
	handle := c.handle
	c.handle, c.ended = 0, true
	c.mu.Unlock()
	if c.borrowed {
		return
	}
	raw.ContextClose(handle)
	if c.owner {
		c.engine.Close()
	}
}

// discard takes a tensor's reference, to be given back when no call can be using it.
func (c *core) discard(handle raw.Tensor) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		if !c.scoped { // else it went with the context
			raw.TensorRelease(handle)
		}
		return
	}
	c.pending = append(c.pending, handle)
	full := len(c.pending) >= batch
	c.mu.Unlock()
	if full && c.enter() {
		c.flush()
		c.leave()
	}
}

// flush gives back what is pending. The caller is inside, or ends the context.
func (c *core) flush() {
	c.mu.Lock()
	pending := c.pending
	if len(pending) == 0 {
		c.mu.Unlock()
		return
	}
	if len(pending) <= 4*batch { // the list is used again; a long one goes
		raw.ReleaseMany(pending)
		c.pending = pending[:0]
		c.mu.Unlock()
		return
	}
	c.pending = nil
	c.mu.Unlock()
	raw.ReleaseMany(pending)
}

// tensor makes one that the innermost scope gives back. The caller is inside.
func (dl *Context) tensor(handle raw.Tensor) *Tensor {
	const together = 16
	c := dl.c
	s := c.scope
	if s.collected {
		t := &Tensor{dl: dl}
		t.handle.Store(uintptr(handle))
		t.collect()
		return t
	}
	if len(c.fresh) == 0 {
		c.fresh = make([]Tensor, together)
	}
	t := &c.fresh[0]
	c.fresh = c.fresh[1:]
	t.dl = dl
	t.handle.Store(uintptr(handle))
	s.add(t)
	return t
}

// add makes the scope give a tensor back.
func (s *Scope) add(t *Tensor) {
	if len(s.tensors) == cap(s.tensors) {
		s.grow()
	}
	t.scope = s
	s.tensors = append(s.tensors, t)
}
