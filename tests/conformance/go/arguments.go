// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"dlcore"
)

// arguments are those of one call. What a typed function cannot be given makes them bad; the call is
// then made by number and words.
type arguments struct {
	attrs  map[string]json.RawMessage
	inputs []*dlcore.Tensor
	used   int
	failed error
}

func (c *arguments) bad() bool {
	if c.used < len(c.inputs) && c.failed == nil {
		c.failed = fmt.Errorf("there are %d inputs, of which %d are used", len(c.inputs), c.used)
	}
	return c.failed != nil
}

func (c *arguments) tensor(index int) *dlcore.Tensor {
	c.used = max(c.used, index+1)
	if index >= len(c.inputs) {
		return nil
	}
	return c.inputs[index]
}

func (c *arguments) tensors(index int) []*dlcore.Tensor {
	c.used = len(c.inputs)
	return c.inputs[min(index, len(c.inputs)):]
}

func (c *arguments) has(name string) bool {
	_, ok := c.attrs[name]
	return ok
}

func attribute[T any](c *arguments, name string) (v T) {
	text, ok := c.attrs[name]
	if !ok {
		c.failed = fmt.Errorf("there is no %s", name)
	} else if err := json.Unmarshal(text, &v); err != nil {
		c.failed = err
	}
	return v
}

func (c *arguments) int(name string) int       { return attribute[int](c, name) }
func (c *arguments) bool(name string) bool     { return attribute[bool](c, name) }
func (c *arguments) string(name string) string { return attribute[string](c, name) }
func (c *arguments) ints(name string) []int    { return attribute[[]int](c, name) }

func (c *arguments) float(name string) float64 {
	v, err := real(attribute[json.RawMessage](c, name))
	if err != nil {
		c.failed = err
	}
	return v
}

func (c *arguments) dtype(name string) dlcore.DType {
	v, err := dtype(attribute[json.RawMessage](c, name))
	if err != nil {
		c.failed = err
	}
	return v
}

// real is a number; what JSON lacks stands as a text.
func real(text json.RawMessage) (float64, error) {
	return strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
}

func dtype(text json.RawMessage) (dlcore.DType, error) {
	if number, err := strconv.Atoi(string(text)); err == nil {
		return dlcore.DType(number), nil
	}
	return dlcore.ParseDType(strings.Trim(string(text), `"`))
}

// schema is what the catalogue says of an op's attributes.
type schema struct {
	Name   string
	Hidden bool
	Inputs []struct{ Variadic, Optional bool }
	Attrs  []struct {
		Name    string
		Type    string
		Default json.RawMessage
	}
}

func loadSchemas() (map[string]schema, error) {
	var catalogue struct{ Ops []schema }
	if err := json.Unmarshal([]byte(dlcore.CatalogueJSON()), &catalogue); err != nil {
		return nil, err
	}
	schemas := map[string]schema{}
	for _, op := range catalogue.Ops {
		schemas[op.Name] = op
	}
	return schemas, nil
}

// pack lays attributes out as words, up to the last one that is given.
func (s schema) pack(attrs map[string]json.RawMessage) (words []int64, err error) {
	last := -1
	for i, attr := range s.Attrs {
		if _, ok := attrs[attr.Name]; ok {
			last = i
		}
	}
	for _, attr := range s.Attrs[:last+1] {
		value, given := attrs[attr.Name]
		kind, optional := strings.CutSuffix(attr.Type, "?")
		if !given {
			value = attr.Default
		}
		absent := value == nil || string(value) == "null"
		if optional && absent {
			words = append(words, 0)
			continue
		}
		if optional {
			words = append(words, 1)
		}
		if words, err = packValue(words, kind, value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func packValue(words []int64, kind string, value json.RawMessage) ([]int64, error) {
	switch kind {
	case "int":
		v, err := strconv.ParseInt(string(value), 10, 64)
		return append(words, v), err
	case "bool":
		return append(words, map[string]int64{"true": 1, "1": 1}[string(value)]), nil
	case "dtype":
		v, err := dtype(value)
		return append(words, int64(v)), err
	case "float":
		v, err := real(value)
		return append(words, int64(math.Float64bits(v))), err
	case "string":
		var v string
		err := json.Unmarshal(value, &v)
		words = append(words, int64(len(v)))
		for len(v) > 0 {
			var word [8]byte
			v = v[copy(word[:], v):]
			words = append(words, int64(binary.LittleEndian.Uint64(word[:])))
		}
		return words, err
	case "ints", "dims":
		var v []int64
		err := json.Unmarshal(value, &v)
		words = append(words, int64(len(v)))
		for _, item := range v {
			if kind == "dims" {
				words = append(words, 0)
			}
			words = append(words, item)
		}
		return words, err
	}
	return nil, fmt.Errorf("unknown attribute type %q", kind)
}
