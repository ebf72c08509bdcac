// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"runtime"
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

	dropped atomic.Pointer[Tensor] // the last closed one, which others may still use in the call that is inside
	mu      sync.Mutex             // for what other goroutines may do at any time:
	ended   bool                   // the handle is gone

	borrowed bool // a child context of a callback: the library ends it
	scoped   bool // it owns what its calls make, as a context with scopes of the library does
	owner    bool // of the engine, too
	warned   bool
}

const (
	busy     = 1
	closing  = 2
	briefly  = 4      // in place of busy: others wait
	batch    = 64     // tensors that go back in one crossing
	leakSize = 10_000 // tensors outside scopes that are worth a warning
)

func (c *core) enter() bool { return c.state.CompareAndSwap(0, busy) || c.enterAfterBrief() }

// enterAfterBrief waits for a goroutine that only gives tensors back.
func (c *core) enterAfterBrief() bool {
	for {
		if c.state.CompareAndSwap(0, busy) {
			return true
		}
		if state := c.state.Load(); state != briefly && state != 0 {
			return false
		}
		runtime.Gosched()
	}
}

func (c *core) leave() {
	if c.state.Add(^uint32(busy-1)) == closing {
		c.end()
	}
}

// tidy gives back what was dropped, unless a call is inside; whoever drops the next one tries again.
func (c *core) tidy() {
	if !c.state.CompareAndSwap(0, briefly) {
		return
	}
	c.flush()
	if c.state.Add(^uint32(briefly-1)) == closing {
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
	c.takeBack(c.dropped.Swap(over))
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

// over is what core.dropped is once the context has ended.
var over = &Tensor{}

// discard takes a closed tensor's reference, to be given back when no call can be using it.
func (c *core) discard(t *Tensor, handle raw.Tensor) {
	t.given, t.waiting = handle, 1
	for {
		last := c.dropped.Load()
		if last == over {
			if !c.scoped { // else it went with the context
				raw.TensorRelease(handle)
			}
			return
		}
		if last != nil {
			t.before, t.waiting = last, last.waiting+1
		}
		if c.dropped.CompareAndSwap(last, t) {
			break
		}
	}
	if t.waiting >= batch {
		c.tidy()
	}
}

// flush gives back what was dropped. The caller is inside.
func (c *core) flush() {
	if c.dropped.Load() != nil {
		c.takeBack(c.dropped.Swap(nil))
	}
}

// takeBack gives back a list of tensors that were closed.
func (c *core) takeBack(t *Tensor) {
	var batched [batch]raw.Tensor
	handles := batched[:0]
	for t != nil {
		if handles = append(handles, t.given); len(handles) == batch {
			c.give(handles)
			handles = handles[:0]
		}
		t, t.before = t.before, nil // whoever keeps a closed tensor keeps no others
	}
	c.give(handles)
}

// tensor makes one that the innermost scope gives back. The caller is inside.
func (dl *Context) tensor(handle raw.Tensor) *Tensor {
	const together = 16
	c := dl.c
	s := c.scope
	if s.collected {
		t := &Tensor{dl: dl, handle: uintptr(handle)}
		t.collect()
		return t
	}
	if len(c.fresh) == 0 {
		c.fresh = make([]Tensor, together)
	}
	t := &c.fresh[0]
	c.fresh = c.fresh[1:]
	t.dl, t.handle = dl, uintptr(handle) // nobody else knows it
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
