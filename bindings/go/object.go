// SPDX-License-Identifier: Apache-2.0

package dlcore

import "sync/atomic"

// users counts the calls that use an object, so that closing it meanwhile waits for the last one.
type users struct {
	count atomic.Int64 // plus isClosed once it is closed
	free  func()
}

const isClosed = 1 << 40

func (u *users) use() bool {
	if u.count.Add(1) < isClosed {
		return true
	}
	u.done()
	return false
}

func (u *users) done() {
	if u.count.Add(-1) == isClosed {
		u.finish()
	}
}

// close is true for the first time.
func (u *users) close() bool {
	for {
		count := u.count.Load()
		if count >= isClosed {
			return false
		}
		if u.count.CompareAndSwap(count, count+isClosed) {
			if count == 0 {
				u.finish()
			}
			return true
		}
	}
}

func (u *users) isClosed() bool { return u.count.Load() >= isClosed }

// finish runs free once: a use that comes too late also ends with the count at isClosed.
func (u *users) finish() {
	if u.count.CompareAndSwap(isClosed, 2*isClosed) && u.free != nil {
		u.free()
	}
}

// object is a handle of the library that calls use: a module, an optimizer, a loader...
type object[H ~uintptr] struct {
	users
	handle H
	dl     *Context
}

// hold makes object o own a handle, which release gives back. A handle of 0 is a closed object.
func (o *object[H]) hold(dl *Context, handle H, release func(H), self closer) {
	o.dl, o.handle = dl, handle
	if handle == 0 {
		o.count.Store(2 * isClosed)
		return
	}
	o.free = func() {
		release(handle)
		o.dl.disown(self)
	}
	dl.own(self)
}

// Close gives the object back; calls that use it at this moment end as usual. Closing it again does
// nothing. Without it, the context closes it.
func (o *object[H]) Close() { o.close() }

func (o *object[H]) self() *object[H] { return o }

// Context is where the methods of the object run.
func (o *object[H]) Context() *Context { return o.dl }
