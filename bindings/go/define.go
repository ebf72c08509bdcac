// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"reflect"
	"runtime/cgo"
	"strings"
	"unicode"

	"dlcore/internal/raw"
)

// Layer is a module written in Go: a pointer to a struct. Its exported fields of type *Module, []*Module
// and *Variable are the children and variables of the module; paths call them by the name of the field
// with a small first letter, and the name of the variable.
//
//	type Residual struct{ Body *dlcore.Module }
//
//	func (r *Residual) Forward(dl *dlcore.Context, x *dlcore.Tensor) *dlcore.Tensor {
//		return x.Add(r.Body.Call(x))
//	}
//
// Forward may run on several goroutines at once, each on a copy whose fields stand for the module that is
// called: the one that was made, or a snapshot of it. It must not keep anything.
type Layer interface {
	Forward(dl *Context, x *Tensor) *Tensor
}

// Define makes a module of a layer written in Go; dlcore/nn has it as nn.Define. A panic in Forward
// becomes the error of the call.
func Define(dl *Context, layer Layer) *Module {
	f := dl.begin("module_define")
	defer f.end()
	parts := f.parts(layer)
	if !f.ok() {
		return f.module(0)
	}
	children := make([]raw.Module, len(parts.children))
	for i, child := range parts.children {
		children[i] = useModule(&f, parts.names[i], child)
	}
	variables := f.variables(parts.variables)
	kind := f.text("kind", parts.kind)
	if !f.ok() {
		return f.module(0)
	}
	engine := dl.c.engine
	engine.sweep()
	forward := raw.ModuleForward(func(child raw.Context, module raw.Module, call raw.OpCall) int32 {
		return onChild(engine, child, false, func(dl *Context) error {
			c := &OpCall{dl, call}
			f := dl.begin(parts.kind)
			raw.ModuleRetain(module)
			m := f.module(module)
			f.end()
			c.SetOutput(0, parts.bind(m).Forward(dl, c.Input(0)))
			return nil
		})
	})
	return f.parent(raw.ModuleDefine(f.ctx, kind, raw.Pointer(children), int64(len(children)),
		raw.Text(strings.Join(parts.names, ",")), raw.Pointer(variables), int64(len(variables)), raw.ModuleFunction,
		uintptr(cgo.NewHandle(forward)), raw.DestroyFunction), parts.children)
}

// parts are what a layer is made of.
type parts struct {
	layer     reflect.Value // the struct
	kind      string
	names     []string // of the children
	children  []*Module
	variables []*Variable
}

var (
	moduleType   = reflect.TypeFor[*Module]()
	modulesType  = reflect.TypeFor[[]*Module]()
	variableType = reflect.TypeFor[*Variable]()
)

func (f *frame) parts(layer Layer) *parts {
	pointer := reflect.ValueOf(layer)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		f.fail(InvalidArgument, "layer is a %T, expected a pointer to a struct", layer)
		return nil
	}
	p := &parts{layer: pointer.Elem(), kind: pointer.Elem().Type().Name()}
	for i := range p.layer.NumField() {
		name, value := fieldName(p.layer.Type().Field(i)), p.layer.Field(i)
		switch {
		case name == "" || value.IsZero():
		case value.Type() == moduleType:
			p.names, p.children = append(p.names, name), append(p.children, value.Interface().(*Module))
		case value.Type() == modulesType:
			for n, child := range value.Interface().([]*Module) {
				p.names, p.children = append(p.names, fmt.Sprint(name, n)), append(p.children, child)
			}
		case value.Type() == variableType:
			p.variables = append(p.variables, value.Interface().(*Variable))
		}
	}
	return p
}

// fieldName is what paths call a field; "" when it is not exported.
func fieldName(field reflect.StructField) string {
	if !field.IsExported() {
		return ""
	}
	letters := []rune(field.Name)
	letters[0] = unicode.ToLower(letters[0])
	return string(letters)
}

// bind is a copy of the layer for the module that is called, on its context.
func (p *parts) bind(m *Module) Layer {
	bound := reflect.New(p.layer.Type())
	bound.Elem().Set(p.layer)
	children := m.Children()
	for i := range p.layer.NumField() {
		field := bound.Elem().Field(i)
		switch {
		case fieldName(p.layer.Type().Field(i)) == "" || field.IsZero():
		case field.Type() == moduleType:
			field.Set(reflect.ValueOf(children[0]))
			children = children[1:]
		case field.Type() == modulesType:
			count := field.Len()
			field.Set(reflect.ValueOf(children[:count:count]))
			children = children[count:]
		case field.Type() == variableType:
			field.Set(reflect.ValueOf(m.Find(field.Interface().(*Variable).Name())))
		}
	}
	return bound.Interface().(Layer)
}
