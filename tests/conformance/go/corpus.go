// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dlcore"
)

// testCase is a line of cases/FAMILY.json; README.md says what the fields mean.
type testCase struct {
	Name   string
	Op     string
	Inputs []*input
	Attrs  map[string]json.RawMessage
	Words  []int64
	Expect struct {
		Outputs  []output
		Error    string
		Contains []string
	}
	Tolerance tolerance
	Gradients *struct {
		Seed      string
		Inputs    []*string
		Tolerance tolerance
	}
	Flags []string

	tensors map[string]array
}

type input struct {
	Tensor  string
	DType   string
	Shape   []int
	Strides []int
	View    [][2]json.RawMessage
	Weak    bool
	Kind    string
	Value   json.RawMessage
}

type output struct {
	Shape  []int
	DType  string
	Tensor string
	Within []float64
	Weak   bool
}

type tolerance struct {
	Rtol, Atol, Ulp float64
	signedZero      bool
}

func (c *testCase) has(flag string) bool {
	for _, f := range c.Flags {
		if f == flag {
			return true
		}
	}
	return false
}

// array is elements in row-major order, as they are stored.
type array struct {
	dtype dlcore.DType
	shape []int
	bytes []byte
}

func loadCorpus(folder string) ([]*testCase, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no cases in %s", folder)
	}
	var all []*testCase
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var cases []*testCase
		if err := json.Unmarshal(text, &cases); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tensors, err := loadTensors(strings.TrimSuffix(path, ".json") + ".safetensors")
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			c.tensors = tensors
		}
		all = append(all, cases...)
	}
	return all, nil
}

func loadTensors(path string) (map[string]array, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(file)
	var header map[string]struct {
		DType   string
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(file[8:8+size], &header); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tensors := map[string]array{}
	for key, entry := range header {
		dtype, err := dlcore.ParseDType(strings.ToLower(entry.DType))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		body := file[8+size:]
		tensors[key] = array{dtype, entry.Shape, body[entry.Offsets[0]:entry.Offsets[1]]}
	}
	return tensors, nil
}

// numbers are the elements, exactly: integers for integer and boolean dtypes, else reals.
type numbers struct {
	integers []int64
	reals    []float64
}

func decode(a array) numbers {
	var n numbers
	b := a.bytes
	switch a.dtype {
	case dlcore.Bool, dlcore.U8, dlcore.I8, dlcore.I16, dlcore.I32, dlcore.I64:
		n.integers = []int64{}
	default:
		n.reals = []float64{}
	}
	little := binary.LittleEndian
	for width := size(a.dtype); len(b) > 0; b = b[width:] {
		switch a.dtype {
		case dlcore.Bool, dlcore.U8:
			n.integers = append(n.integers, int64(b[0]))
		case dlcore.I8:
			n.integers = append(n.integers, int64(int8(b[0])))
		case dlcore.I16:
			n.integers = append(n.integers, int64(int16(little.Uint16(b))))
		case dlcore.I32:
			n.integers = append(n.integers, int64(int32(little.Uint32(b))))
		case dlcore.I64:
			n.integers = append(n.integers, int64(little.Uint64(b)))
		case dlcore.F16:
			n.reals = append(n.reals, float64(dlcore.Float16(little.Uint16(b)).Float32()))
		case dlcore.BF16:
			n.reals = append(n.reals, float64(dlcore.BFloat16(little.Uint16(b)).Float32()))
		case dlcore.F32:
			n.reals = append(n.reals, float64(math.Float32frombits(little.Uint32(b))))
		case dlcore.F64:
			n.reals = append(n.reals, math.Float64frombits(little.Uint64(b)))
		}
	}
	return n
}

// encode rounds to a floating dtype.
func encode(values []float64, shape []int, dtype dlcore.DType) array {
	a := array{dtype: dtype, shape: shape}
	little := binary.LittleEndian
	for _, v := range values {
		switch dtype {
		case dlcore.F16:
			a.bytes = little.AppendUint16(a.bytes, uint16(dlcore.ToFloat16(float32(v))))
		case dlcore.BF16:
			a.bytes = little.AppendUint16(a.bytes, uint16(dlcore.ToBFloat16(float32(v))))
		case dlcore.F32:
			a.bytes = little.AppendUint32(a.bytes, math.Float32bits(float32(v)))
		default:
			a.bytes = little.AppendUint64(a.bytes, math.Float64bits(v))
		}
	}
	return a
}

func size(dtype dlcore.DType) int {
	switch dtype {
	case dlcore.Bool, dlcore.U8, dlcore.I8:
		return 1
	case dlcore.I16, dlcore.F16, dlcore.BF16:
		return 2
	case dlcore.I32, dlcore.F32:
		return 4
	}
	return 8
}
