// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"io"
	"iter"
	"slices"

	"dlcore/internal/raw"
)

// Module is a layer or a model. Package dlcore/nn makes them. Those that are put into another one are
// closed with it.
type Module struct {
	object[raw.Module]
	family family
}

// NewModule makes the layer of a number of the catalogue; package dlcore/nn has a function for each.
func NewModule(dl *Context, layer int32, children []*Module, words []int64) *Module {
	f := dl.begin("module_create")
	defer f.end()
	handles := make([]raw.Module, len(children))
	for i, child := range children {
		handles[i] = useModule(&f, "child", child)
	}
	var handle raw.Module
	if f.ok() {
		handle = raw.ModuleCreate(f.ctx, layer, raw.Pointer(handles), int64(len(handles)), raw.Pointer(words),
			int64(len(words)))
	}
	return f.parent(handle, children)
}

// parent is a new module that its children are closed with.
func (f *frame) parent(handle raw.Module, children []*Module) *Module {
	m := f.module(handle)
	if handle != 0 {
		m.family.children = slices.Clone(children)
	}
	return m
}

// useModule is the handle of a module, which may be nil.
func useModule(f *frame, name string, m *Module) raw.Module {
	return use(f, name, part(m, (*Module).self))
}

// module is the module of a new handle, or of a call that failed.
func (f *frame) module(handle raw.Module) *Module {
	if handle == 0 && f.ok() {
		f.take(Internal)
	}
	m := &Module{}
	m.hold(f.dl, handle, func(handle raw.Module) {
		m.family.close()
		raw.ModuleRelease(handle)
	}, m)
	return m
}

// Call runs the module on the context of x.
func (m *Module) Call(x *Tensor) *Tensor {
	if x == nil {
		m.dl.stick(failure(InvalidArgument, "module_call: x is nil"))
		return m.dl.none
	}
	f := x.dl.begin("module_call")
	defer f.end()
	module, input := useModule(&f, "module", m), f.tensor("x", x)
	if !f.ok() {
		return x.dl.none
	}
	return f.made(raw.ModuleCall(f.ctx, module, input))
}

// SetTraining switches the module and everything inside it between training and use, and returns what
// it was. Layers behave as in training only if the context does so, too.
func (m *Module) SetTraining(on bool) bool {
	f := m.dl.always("module_set_training")
	defer f.end()
	handle := use(&f, "module", &m.object)
	if !f.ok() {
		return false
	}
	before := raw.ModuleSetTraining(f.ctx, handle, flag(on))
	if before < 0 {
		f.take(Internal)
	}
	return before == 1
}

// Snapshot is a module that answers for ever as this one would at this moment in use. Any number of
// goroutines may call it, while this one is trained.
func (m *Module) Snapshot() *Module {
	f := m.dl.begin("module_snapshot")
	defer f.end()
	var handle raw.Module
	if module := use(&f, "module", &m.object); f.ok() {
		handle = raw.ModuleSnapshot(f.ctx, module)
	}
	return f.module(handle)
}

// Kind is the name of the layer, as "Linear"; "" once it is closed.
func (m *Module) Kind() string {
	if !m.use() {
		return ""
	}
	defer m.done()
	return raw.ModuleKind(m.handle).String()
}

// Children are the modules directly inside it. They are closed with it.
func (m *Module) Children() []*Module {
	f := m.dl.begin("module_child")
	defer f.end()
	handle := use(&f, "module", &m.object)
	if !f.ok() {
		return nil
	}
	m.family.mu.Lock()
	defer m.family.mu.Unlock()
	if m.family.children == nil {
		m.family.children = make([]*Module, raw.ModuleChildCount(handle))
		for i := range m.family.children {
			child := raw.ModuleChild(handle, int64(i))
			raw.ModuleRetain(child)
			m.family.children[i] = f.module(child)
		}
	}
	return slices.Clone(m.family.children)
}

// Variables are those of the module and everything inside it, with their paths, in the order of their
// definition. They are closed with it.
func (m *Module) Variables() iter.Seq2[string, *Variable] {
	return func(yield func(string, *Variable) bool) {
		paths, variables := m.variables()
		for i, path := range paths {
			if !yield(path, variables[i]) {
				return
			}
		}
	}
}

func (m *Module) variables() (paths []string, variables []*Variable) {
	f := m.dl.begin("module_variable")
	defer f.end()
	handle := use(&f, "module", &m.object)
	if !f.ok() {
		return nil, nil
	}
	for i := range raw.ModuleVariableCount(handle) {
		variable := raw.ModuleVariable(f.ctx, handle, i)
		path := f.twoCalls(func(buffer *byte, size int64) int64 {
			return raw.ModuleVariablePath(f.ctx, handle, i, buffer, size)
		})
		if variable == 0 || f.err != nil {
			return nil, nil
		}
		paths, variables = append(paths, path), append(variables, m.family.variable(m.dl, variable))
	}
	return paths, variables
}

// Parameters are the trainable variables, in the order of their definition.
func (m *Module) Parameters() []*Variable {
	var parameters []*Variable
	for _, variable := range m.Variables() {
		if variable.Trainable() {
			variable.of = m
			parameters = append(parameters, variable)
		}
	}
	return parameters
}

// Find is the variable at a path, as "0.weight".
func (m *Module) Find(path string) *Variable {
	f := m.dl.begin("module_find")
	defer f.end()
	handle, text := use(&f, "module", &m.object), f.text("path", path)
	var variable raw.Variable
	if f.ok() {
		if variable = raw.ModuleFind(f.ctx, handle, text); variable == 0 {
			f.take(Internal)
		}
	}
	return m.family.variable(m.dl, variable)
}

// SaveFile saves all variables by path as safetensors. The file is replaced as a whole or not at all.
func (m *Module) SaveFile(path string) error {
	return byFile(&m.object, "module", "module_save", path, raw.ModuleSave)
}

// LoadFile loads them: every variable must be there, and nothing else. Nothing changes on failure.
func (m *Module) LoadFile(path string) error {
	return byFile(&m.object, "module", "module_load", path, raw.ModuleLoad)
}

// Save writes what SaveFile would.
func (m *Module) Save(w io.Writer) error {
	return toWriter(&m.object, "module", "module_write", w, raw.ModuleWrite)
}

// Load reads what Save wrote.
func (m *Module) Load(r io.Reader) error {
	return fromReader(&m.object, "module", "module_read", r, raw.ModuleRead)
}

// LoadBytes loads from memory.
func (m *Module) LoadBytes(data []byte) error {
	return fromBytes(&m.object, "module", "module_load_buffer", data, raw.ModuleLoadBuffer)
}
