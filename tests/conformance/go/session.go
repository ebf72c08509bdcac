// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"dlcore"
)

// session runs one check of a case on a context, in a scope.
type session struct {
	dl      *dlcore.Context
	c       *testCase
	schemas map[string]schema
	typed   map[string]int // how often each op was called by its typed function
}

// call runs the op of the case by its typed function, or, where that cannot be given such arguments, by
// its number.
func (s session) call(dl *dlcore.Context, inputs []*dlcore.Tensor, outputs int) []*dlcore.Tensor {
	if s.c.Words == nil {
		a := &arguments{attrs: s.c.Attrs, inputs: inputs}
		if len(inputs) >= s.needed() {
			if made := calls[s.c.Op](dl, a); made != nil && len(made) >= outputs {
				s.typed[s.c.Op]++
				return made
			}
		}
	}
	op, err := dl.FindOp(s.c.Op)
	words := s.c.Words
	if words == nil && err == nil {
		words, err = s.schemas[s.c.Op].pack(s.c.Attrs)
	}
	dl.Fail(err)
	return dl.Call(op, inputs, words, outputs)
}

// needed is how many inputs the op wants at least.
func (s session) needed() (n int) {
	for _, input := range s.schemas[s.c.Op].Inputs {
		if !input.Optional && !input.Variadic {
			n++
		}
	}
	return n
}

func (s session) create(a array) *dlcore.Tensor { return s.dl.FromBytes(a.bytes, a.dtype, a.shape...) }

func (s session) inputs() ([]*dlcore.Tensor, error) {
	var made []*dlcore.Tensor
	for _, in := range s.c.Inputs {
		t, err := s.input(in)
		if err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
		made = append(made, t)
	}
	return made, s.dl.Err()
}

func (s session) input(in *input) (*dlcore.Tensor, error) {
	if in == nil {
		return nil, nil
	}
	if in.Weak {
		var value any
		if err := json.Unmarshal(in.Value, &value); err != nil {
			return nil, err
		}
		if number, ok := value.(float64); ok && in.Kind == "i64" {
			value = int(number)
		}
		return s.dl.Weak(value), nil
	}
	a, ok := s.c.tensors[in.Tensor]
	if !ok {
		return nil, fmt.Errorf("there is no tensor %s", in.Tensor)
	}
	t := s.create(a)
	for _, step := range in.View {
		view := session{s.dl, &testCase{}, s.schemas, s.typed}
		if err := json.Unmarshal(step[0], &view.c.Op); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(step[1], &view.c.Attrs); err != nil {
			return nil, err
		}
		t = view.call(s.dl, []*dlcore.Tensor{t}, 1)[0]
	}
	if in.View == nil {
		return t, nil
	}
	d, err := t.Describe()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(d.Shape, in.Shape) {
		return nil, fmt.Errorf("view has shape %v, expected %v", d.Shape, in.Shape)
	}
	for i, stride := range in.Strides {
		if d.Shape[i] > 1 && d.Strides[i] != stride && !slices.Contains(d.Shape, 0) {
			return nil, fmt.Errorf("view has strides %v, expected %v", d.Strides, in.Strides)
		}
	}
	return t, nil
}

func (s session) read(t *dlcore.Tensor) (array, error) {
	bytes, err := t.Bytes()
	return array{t.DType(), t.Shape(), bytes}, err
}
