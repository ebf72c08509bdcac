// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dlcore"
)

// checkError requires the code and the words of the failure that the case states.
func checkError(s session) error {
	inputs, err := s.inputs()
	if err != nil {
		return err
	}
	s.call(s.dl, inputs, 1)
	failed := s.dl.TakeErr()
	var e *dlcore.Error
	if !errors.As(failed, &e) {
		return fmt.Errorf("succeeded, expected %s", s.c.Expect.Error)
	}
	if e.Code.String() != s.c.Expect.Error {
		return fmt.Errorf("failed with %s: %s, expected %s", e.Code, e.Message, s.c.Expect.Error)
	}
	for _, word := range s.c.Expect.Contains {
		if !strings.Contains(e.Message, word) {
			return fmt.Errorf("message %q lacks %q", e.Message, word)
		}
	}
	return nil
}

// checkOutputs requires dtype, shape and elements of each output.
func checkOutputs(s session) error {
	inputs, err := s.inputs()
	if err != nil {
		return err
	}
	made := s.call(s.dl, inputs, len(s.c.Expect.Outputs))
	if err := s.dl.Err(); err != nil {
		return err
	}
	for i, expected := range s.c.Expect.Outputs {
		if err := s.checkOutput(made[i], expected); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func (s session) checkOutput(t *dlcore.Tensor, expected output) error {
	d, err := t.Describe()
	if err != nil {
		return err
	}
	if d.DType.String() != expected.DType {
		return fmt.Errorf("dtype is %s, expected %s", d.DType, expected.DType)
	}
	if !slices.Equal(d.Shape, expected.Shape) {
		return fmt.Errorf("shape is %v, expected %v", d.Shape, expected.Shape)
	}
	if d.Weak != expected.Weak {
		return fmt.Errorf("weak is %v, expected %v", d.Weak, expected.Weak)
	}
	a, err := s.read(t)
	if err != nil {
		return err
	}
	got := decode(a)
	if len(expected.Within) == 2 {
		if text := within(got, expected.Within[0], expected.Within[1]); text != "" {
			return errors.New(text)
		}
	}
	if expected.Tensor != "" {
		tolerance := s.c.Tolerance
		tolerance.signedZero = s.c.has("signed_zero")
		if text := difference(got, decode(s.c.tensors[expected.Tensor]), a.dtype, tolerance); text != "" {
			return errors.New(text)
		}
	}
	return nil
}

// checkLayout requires the same bits when the inputs are made contiguous first.
func checkLayout(s session) error {
	inputs, err := s.inputs()
	if err != nil {
		return err
	}
	plain, strided := slices.Clone(inputs), false
	for i, in := range s.c.Inputs {
		if in != nil && in.View != nil {
			a, err := s.read(inputs[i])
			if err != nil {
				return err
			}
			plain[i], strided = s.create(a), true
		}
	}
	if !strided {
		return nil
	}
	one, err := s.read(s.call(s.dl, inputs, 1)[0])
	if err != nil {
		return err
	}
	two, err := s.read(s.call(s.dl, plain, 1)[0])
	if err != nil {
		return err
	}
	if !bytes.Equal(one.bytes, two.bytes) {
		return errors.New("not the same bits as with contiguous inputs")
	}
	return nil
}
