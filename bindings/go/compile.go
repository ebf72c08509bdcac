// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// Compiled is a function that is captured once for each signature of its inputs, and then run as a
// graph. It has the bits of the function itself.
type Compiled struct {
	dl       *Context
	function func(dl *Context, xs ...*Tensor) []*Tensor
	mu       sync.Mutex
	programs map[string]*program
	order    []string // signatures, oldest first
}

// program is what became of one signature.
type program struct {
	executable *Executable // nil: the function runs eagerly
	nodes      int
	reason     string
}

// Compile compiles a function of one result: ops, Backward and Step included. What it does besides happens
// only while it is captured. Where it cannot be captured it runs as it is, and the log says why.
func (dl *Context) Compile(function Function) *Compiled {
	return dl.CompileMany(func(dl *Context, xs ...*Tensor) []*Tensor { return []*Tensor{function(dl, xs...)} })
}

// CompileMany is Compile for a function of several results.
func (dl *Context) CompileMany(function func(dl *Context, xs ...*Tensor) []*Tensor) *Compiled {
	return &Compiled{dl: dl, function: function, programs: map[string]*program{}}
}

// Run is the first result.
func (c *Compiled) Run(xs ...*Tensor) *Tensor {
	if made := c.RunMany(xs...); len(made) > 0 {
		return made[0]
	}
	return c.dl.none
}

// RunMany are all results, on the context of the first input.
func (c *Compiled) RunMany(xs ...*Tensor) []*Tensor {
	dl := c.dl
	if len(xs) > 0 && xs[0] != nil {
		dl = xs[0].dl
	}
	if dl.Err() != nil {
		return []*Tensor{dl.none}
	}
	signature, types := c.signature(dl, xs)
	if dl.Err() != nil {
		return []*Tensor{dl.none}
	}
	c.mu.Lock()
	p := c.programs[signature]
	if p == nil {
		p = c.capture(dl, types)
		c.programs[signature] = p
		c.order = append(c.order, signature)
	}
	c.mu.Unlock()
	if p.executable == nil {
		return c.function(dl, xs...)
	}
	return p.executable.Run(xs...)
}

// signature is what a program depends on: dtypes, shapes, modes, device.
func (c *Compiled) signature(dl *Context, xs []*Tensor) (string, []Description) {
	var text strings.Builder
	types := make([]Description, len(xs))
	for i, x := range xs {
		if x == nil {
			dl.stick(failure(InvalidArgument, "compile: input %d is nil", i))
			return "", nil
		}
		var err error
		if types[i], err = x.Describe(); err != nil {
			dl.Fail(err)
			return "", nil
		}
		fmt.Fprintf(&text, "%s%v ", types[i].DType, types[i].Shape)
		if types[i].Weak {
			text.WriteString("weak ")
		}
	}
	fmt.Fprintf(&text, "on %s", dl.Device())
	if dl.Recording() {
		text.WriteString(", recording")
	}
	if dl.Training() {
		text.WriteString(", training")
	}
	return text.String(), types
}

// capture tries to make a program; dl has no error before, nor afterwards.
func (c *Compiled) capture(dl *Context, types []Description) *program {
	for i, t := range types {
		if t.Weak {
			return &program{reason: fmt.Sprintf("input %d is a weak scalar", i)}
		}
	}
	scope := dl.Scope()
	defer scope.Close()
	dl.BeginCapture("compiled")
	graph, err := func() (*Graph, error) {
		ended := false
		defer func() {
			if !ended {
				dl.AbortCapture()
			}
		}()
		inputs := make([]*Tensor, len(types))
		for i, t := range types {
			inputs[i] = dl.CaptureInput(fmt.Sprintf("x%d", i), t.DType, strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", "))
		}
		outputs := c.function(dl, inputs...)
		if err := dl.TakeErr(); err != nil {
			return nil, err
		}
		graph := dl.EndCapture(outputs...)
		err := dl.TakeErr()
		ended = err == nil
		return graph, err
	}()
	if err == nil {
		common := graph.Apply("cse")
		better := common.Apply("dce")
		executable := better.Compile()
		p := &program{executable: executable, nodes: better.Nodes()}
		for _, used := range []*Graph{graph, common, better} {
			used.Close()
		}
		if err = dl.TakeErr(); err == nil {
			executable.move(c.dl)
			return p
		}
	}
	dl.TakeErr()
	slog.Warn("dlcore: a function runs eagerly, since it cannot be captured", "reason", err)
	return &program{reason: err.Error()}
}

// move makes an executable belong to another context.
func (e *Executable) move(dl *Context) {
	e.dl.disown(e)
	e.dl = dl
	dl.own(e)
}

// Close forgets all programs; the next Run captures again.
func (c *Compiled) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.programs {
		if p.executable != nil {
			p.executable.Close()
		}
	}
	clear(c.programs)
	c.order = nil
}

// Explain says for each signature that was met, in order, what became of it.
func (c *Compiled) Explain() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	for _, signature := range c.order {
		p := c.programs[signature]
		if p.executable != nil {
			fmt.Fprintf(&text, "%s: a graph of %d nodes\n", signature, p.nodes)
		} else {
			fmt.Fprintf(&text, "%s: runs eagerly: %s\n", signature, p.reason)
		}
	}
	return text.String()
}
