// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"sync"

	"dlcore/internal/raw"
)

// family is what was asked of a module, an optimizer or a schedule: the same each time, and closed with it.
type family struct {
	mu        sync.Mutex
	variables map[raw.Variable]*Variable
	children  []*Module
}

func (a *family) variable(dl *Context, borrowed raw.Variable) *Variable {
	if borrowed == 0 {
		return dl.ownVariable(0)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.variables[borrowed]; known != nil && !known.isClosed() {
		return known
	}
	if a.variables == nil {
		a.variables = map[raw.Variable]*Variable{}
	}
	v := dl.variable(borrowed)
	a.variables[borrowed] = v
	return v
}

func (a *family) close() {
	a.mu.Lock()
	variables, children := a.variables, a.children
	a.variables, a.children = nil, nil
	a.mu.Unlock()
	for _, v := range variables {
		v.Close()
	}
	for _, child := range children {
		child.Close()
	}
}
