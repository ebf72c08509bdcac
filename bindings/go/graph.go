// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"strings"

	"dlcore/internal/raw"
)

// Graph is a captured program.
type Graph struct{ object[raw.Graph] }

// BeginCapture makes the calls that follow append to a graph instead of computing, until EndCapture or
// AbortCapture.
func (dl *Context) BeginCapture(name string) {
	f := dl.begin("capture_begin")
	defer f.end()
	if text := f.text("name", name); f.ok() {
		f.status(raw.CaptureBegin(f.ctx, text))
	}
}

// CaptureInput is an input of the graph. The shape is text: "[64, 784]", or with symbols "[B, 784]".
func (dl *Context) CaptureInput(name string, dtype DType, shape string) *Tensor {
	f := dl.begin("capture_input")
	defer f.end()
	called, sizes := f.text("name", name), f.text("shape", shape)
	if !f.ok() {
		return dl.none
	}
	return f.made(raw.CaptureInput(f.ctx, called, int32(dtype), sizes))
}

// CaptureConstant makes a tensor with elements usable in the capture.
func (dl *Context) CaptureConstant(t *Tensor) *Tensor {
	f := dl.begin("capture_constant")
	defer f.end()
	handle := f.tensor("tensor", t)
	if !f.ok() {
		return dl.none
	}
	return f.made(raw.CaptureConstant(f.ctx, handle))
}

// EndCapture ends the capture with a graph that returns the outputs.
func (dl *Context) EndCapture(outputs ...*Tensor) *Graph {
	f := dl.begin("capture_end")
	defer f.end()
	var graph raw.Graph
	if handles := f.tensors("outputs", outputs); f.ok() {
		graph = raw.CaptureEnd(f.ctx, raw.Pointer(handles), int64(len(handles)))
	}
	return f.graph(graph)
}

// AbortCapture ends the capture and forgets it; nothing has changed.
func (dl *Context) AbortCapture() {
	f := dl.always("capture_abort")
	defer f.end()
	if f.ok() {
		f.status(raw.CaptureAbort(f.ctx))
	}
}

// ParseGraph reads what Text wrote.
func (dl *Context) ParseGraph(text string) *Graph {
	f := dl.begin("graph_parse")
	defer f.end()
	var graph raw.Graph
	if f.ok() {
		graph = raw.GraphParse(f.ctx, raw.Text(text), int64(len(text)))
	}
	return f.graph(graph)
}

func (f *frame) graph(handle raw.Graph) *Graph {
	if handle == 0 && f.ok() {
		f.take(Internal)
	}
	g := &Graph{}
	g.hold(f.dl, handle, raw.GraphRelease, g)
	return g
}

// Text is the graph as ParseGraph reads it.
func (g *Graph) Text() (string, error) {
	f := g.dl.begin("graph_to_text")
	defer f.end()
	var text string
	if handle := use(&f, "graph", &g.object); f.ok() {
		text = f.twoCalls(func(buffer *byte, size int64) int64 { return raw.GraphToText(f.ctx, handle, buffer, size) })
	}
	return text, f.outcome()
}

// Nodes is the number of nodes; -1 once it is closed.
func (g *Graph) Nodes() int {
	if !g.use() {
		return -1
	}
	defer g.done()
	return int(raw.GraphNodeCount(g.handle))
}

// Verify checks every rule of the form.
func (g *Graph) Verify() error {
	f := g.dl.begin("graph_verify")
	defer f.end()
	if handle := use(&f, "graph", &g.object); f.ok() {
		f.status(raw.GraphVerify(f.ctx, handle))
	}
	return f.outcome()
}

// Apply is a new graph, after a pass: "dce", "cse".
func (g *Graph) Apply(pass string) *Graph {
	f := g.dl.begin("graph_apply")
	defer f.end()
	var graph raw.Graph
	if handle, text := use(&f, "graph", &g.object), f.text("pass", pass); f.ok() {
		graph = raw.GraphApply(f.ctx, handle, text)
	}
	return f.graph(graph)
}

// Executable is a graph made ready for a device.
type Executable struct {
	object[raw.Executable]
	outputs int
}

// Compile makes the graph executable on the context's device. Its state is bound to the variables, by
// name; without any, to those that it was captured with.
func (g *Graph) Compile(variables ...*Variable) *Executable {
	text, _ := g.Text()
	f := g.dl.begin("graph_compile")
	defer f.end()
	var executable raw.Executable
	handle, bound := use(&f, "graph", &g.object), f.variables(variables)
	if f.ok() {
		executable = raw.GraphCompile(f.ctx, handle, raw.Pointer(bound), int64(len(bound)))
		if executable == 0 {
			f.take(Internal)
		}
	}
	e := &Executable{outputs: outputsOf(text)}
	e.hold(g.dl, executable, raw.ExecutableRelease, e)
	return e
}

// outputsOf counts what the last line `return %1, %2` of a graph names.
func outputsOf(text string) int {
	_, last, found := strings.Cut(text[max(strings.LastIndex(text, "\n  return"), 0):], "return")
	last, _, _ = strings.Cut(last, "\n")
	if last = strings.TrimSpace(last); !found || last == "" {
		return 0
	}
	return strings.Count(last, ",") + 1
}

// Run runs the graph: it reads its variables, computes, and updates them all together. It runs on the
// context of the first input, or on that of the graph.
func (e *Executable) Run(inputs ...*Tensor) []*Tensor {
	dl := e.dl
	if len(inputs) > 0 && inputs[0] != nil {
		dl = inputs[0].dl
	}
	made := make([]*Tensor, e.outputs)
	for i := range made {
		made[i] = dl.none
	}
	f := dl.begin("executable_run")
	defer f.end()
	handle, given := use(&f, "executable", &e.object), f.tensors("inputs", inputs)
	results := make([]raw.Tensor, e.outputs)
	if f.ok() && f.status(raw.ExecutableRun(f.ctx, handle, raw.Pointer(given), int64(len(given)), raw.Pointer(results),
		int64(len(results)))) {
		for i, result := range results {
			made[i] = f.made(result)
		}
	}
	return made
}
