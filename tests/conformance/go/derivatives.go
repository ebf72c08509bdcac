// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dlcore"
)

// differentiable are the inputs that have an expected gradient.
func (c *testCase) differentiable() (positions []int) {
	if c.Gradients != nil {
		for i, key := range c.Gradients.Inputs {
			if key != nil {
				positions = append(positions, i)
			}
		}
	}
	return positions
}

func (s session) seed() array {
	out := s.c.Expect.Outputs[0]
	dtype, _ := dlcore.ParseDType(out.DType)
	return encode(decode(s.c.tensors[s.c.Gradients.Seed]).reals, out.Shape, dtype)
}

func (s session) expectedGradient(i int) []float64 {
	return decode(s.c.tensors[*s.c.Gradients.Inputs[i]]).reals
}

// function is the op as one of its differentiable inputs.
func (s session) function(inputs []*dlcore.Tensor, positions []int) dlcore.Function {
	return func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		all := slices.Clone(inputs)
		for i, t := range all {
			if t != nil && dl != s.dl {
				all[i] = t.On(dl)
			}
		}
		for i, position := range positions {
			all[position] = xs[i]
		}
		return s.call(dl, all, 1)[0]
	}
}

func (s session) points() (inputs, points []*dlcore.Tensor, positions []int, err error) {
	positions = s.c.differentiable()
	inputs, err = s.inputs()
	for _, i := range positions {
		if err == nil {
			points = append(points, inputs[i])
		}
	}
	return inputs, points, positions, err
}

// checkGradients compares reverse mode with the expected gradients.
func checkGradients(s session) error {
	inputs, points, positions, err := s.points()
	if err != nil {
		return err
	}
	leaves := make([]*dlcore.Tensor, len(points))
	for i, x := range points {
		leaves[i] = s.dl.Watch(x)
	}
	y := s.function(inputs, positions)(s.dl, leaves...)
	d, err := y.Describe()
	if err != nil {
		return err
	}
	gradients := make([]*dlcore.Tensor, len(leaves)) // without history the result is a constant
	if d.RequiresGrad {
		gradients = s.dl.Grad([]*dlcore.Tensor{y}, leaves, dlcore.Seeds(s.create(s.seed())), dlcore.AllowUnused())
		if err := s.dl.Err(); err != nil {
			return err
		}
	}
	for i, position := range positions {
		if err := s.checkGradient(gradients[i], position); err != nil {
			return fmt.Errorf("gradient of input %d: %w", position, err)
		}
	}
	return nil
}

func (s session) checkGradient(gradient *dlcore.Tensor, position int) error {
	in, expected := s.c.Inputs[position], s.expectedGradient(position)
	dtype, _ := dlcore.ParseDType(in.DType)
	got := encode(make([]float64, len(expected)), in.Shape, dtype)
	if gradient != nil {
		var err error
		if got, err = s.read(gradient); err != nil {
			return err
		}
	}
	if got.dtype != dtype || !slices.Equal(got.shape, in.Shape) {
		return fmt.Errorf("it is %s %v, expected %s %v", got.dtype, got.shape, dtype, in.Shape)
	}
	if text := difference(decode(got), numbers{reals: expected}, dtype, s.c.Gradients.Tolerance); text != "" {
		return errors.New(text)
	}
	return nil
}

// checkForwardMode requires <seed, J t> to be <J^T seed, t> for a direction t without pattern.
func checkForwardMode(s session) error {
	inputs, points, positions, err := s.points()
	if err != nil {
		return err
	}
	var expected, size float64
	tangents := make([]*dlcore.Tensor, len(points))
	for n, i := range positions {
		gradient := s.expectedGradient(i)
		direction := make([]float64, len(gradient))
		for e, g := range gradient {
			direction[e] = (float64((e*7+i*3+3)%11) - 5) / 8
			expected += g * direction[e]
			size += math.Abs(g * direction[e])
		}
		dtype, _ := dlcore.ParseDType(s.c.Inputs[i].DType)
		tangents[n] = s.create(encode(direction, s.c.Inputs[i].Shape, dtype))
	}
	if math.IsInf(size, 0) || math.IsNaN(size) {
		return nil
	}
	value, rate := s.dl.JVP(s.function(inputs, positions), points, tangents)
	if err := s.checkOutput(value, s.c.Expect.Outputs[0]); err != nil {
		return fmt.Errorf("forward mode, primal: %w", err)
	}
	derivative, err := s.read(rate)
	if err != nil {
		return err
	}
	seed := s.seed()
	if !slices.Equal(derivative.shape, seed.shape) || derivative.dtype != seed.dtype {
		return fmt.Errorf("forward mode: the tangent is %s %v", derivative.dtype, derivative.shape)
	}
	var got float64
	rates := decode(derivative).reals
	for e, weight := range decode(seed).reals {
		got += weight * rates[e]
		size += math.Abs(weight * rates[e])
	}
	tolerance := s.c.Gradients.Tolerance
	if !(math.Abs(got-expected) <= (tolerance.Rtol+1e-10)*size+tolerance.Atol) {
		return fmt.Errorf("forward mode: <seed, J t> is %g, expected %g", got, expected)
	}
	return nil
}

// checkGradcheck compares derivatives of order 1 and 2 with differences, through callbacks into Go.
func checkGradcheck(s session) error {
	inputs, points, positions, err := s.points()
	if err != nil {
		return err
	}
	return s.dl.Gradcheck(s.function(inputs, positions), 2, 0, points...)
}
