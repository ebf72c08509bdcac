// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"

	"dlcore/internal/raw"
)

// Scope owns the tensors that are made while it is the innermost one of its context, and gives them
// back when it is closed:
//
//	scope := dl.Scope()
//	defer scope.Close()
//
// The outermost one belongs to the context; it also owns all other objects.
type Scope struct {
	dl        *Context
	c         *core // of dl
	outer     *Scope
	tensors   []*Tensor
	collected bool

	mu      sync.Mutex
	objects map[closer]struct{} // of the outermost scope
}

type closer interface{ Close() }

// ScopeOption is an option of [Context.Scope].
type ScopeOption func(*Scope)

// Collected leaves the tensors of a scope to the garbage collector, for programs that would rather
// not say when they need them no more. Each costs a finalizer, and is given back some time after the
// last use; closing the scope only ends the mode.
func Collected() ScopeOption { return func(s *Scope) { s.collected = true } }

// Scope opens a scope inside the innermost one.
func (dl *Context) Scope(options ...ScopeOption) *Scope {
	s := &Scope{dl: dl, c: dl.c}
	for _, option := range options {
		option(s)
	}
	if !dl.c.enter() {
		dl.stick(dl.c.refusal("scope"))
		return s // belongs nowhere; closing it does nothing
	}
	s.outer, s.tensors, dl.c.spare = dl.c.scope, dl.c.spare, nil
	dl.c.scope = s
	dl.c.leave()
	return s
}

// Close gives back what the scope owns, after closing the scopes inside it. Closing it again does
// nothing.
func (s *Scope) Close() { s.leave((*Scope).end) }

// Reset gives back what the scope owns and closes the scopes inside it; it stays open.
func (s *Scope) Reset() { s.leave((*Scope).clear) }

func (s *Scope) leave(do func(*Scope)) {
	c := s.c
	if !c.enter() {
		if c.state.Load()&closing == 0 {
			s.dl.stick(c.refusal("scope_close"))
		}
		return // else it went with the context
	}
	defer c.leave()
	if !s.isOpen() {
		return
	}
	for c.scope != s {
		c.scope.end()
	}
	do(s)
	c.flush()
}

func (s *Scope) isOpen() bool {
	for open := s.c.scope; open != nil; open = open.outer {
		if open == s {
			return true
		}
	}
	return false
}

// end takes the innermost scope away.
func (s *Scope) end() {
	s.clear()
	s.c.scope = s.outer
	if cap(s.tensors) > cap(s.c.spare) {
		s.c.spare = s.tensors[:0]
	}
	s.tensors = nil
}

func (s *Scope) clear() {
	var batched [batch]raw.Tensor
	handles := batched[:0]
	for i, t := range s.tensors {
		s.tensors[i] = nil
		if handle := t.take(); handle != 0 && (t.shared || !s.c.scoped) {
			if handles = append(handles, handle); len(handles) == batch {
				s.c.give(handles)
				handles = handles[:0]
			}
		}
	}
	s.c.give(handles)
	s.tensors = s.tensors[:0]
	s.mu.Lock()
	objects := s.objects
	s.objects = nil
	s.mu.Unlock()
	for object := range objects {
		object.Close()
	}
}

// give hands tensors back at once; accessors on other goroutines end first.
func (c *core) give(handles []raw.Tensor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw.ReleaseMany(handles)
}

// grow makes room for a tensor, first by forgetting those that were closed.
func (s *Scope) grow() {
	open := s.tensors[:0]
	for _, t := range s.tensors {
		if t.open() != 0 {
			open = append(open, t)
		}
	}
	clear(s.tensors[len(open):])
	s.tensors = open
	if len(open) > cap(open)/2 || cap(open) == 0 {
		s.tensors = append(make([]*Tensor, 0, max(2*cap(open), 16)), open...)
	}
	if s.outer == nil && len(open) >= leakSize && !s.c.warned {
		s.c.warned = true
		slog.Warn("dlcore: many tensors are alive outside scopes; open one around what is repeated",
			"tensors", len(open), "at", outsideLine())
	}
}

// outsideLine is the line of the program that called into this package.
func outsideLine() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "dlcore.") && !strings.HasPrefix(frame.Function, "dlcore/") || !more {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
	}
}

// own keeps an object until the context is closed.
func (dl *Context) own(object closer) {
	s := dl.root
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[closer]struct{}{}
	}
	s.objects[object] = struct{}{}
}

func (dl *Context) disown(object closer) {
	s := dl.root
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, object)
}
