// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"

	"dlcore"
)

// difference is "" when got is right for expected, else the first element that is not.
func difference(got, expected numbers, dtype dlcore.DType, t tolerance) string {
	if len(got.integers) != len(expected.integers) || len(got.reals) != len(expected.reals) {
		return fmt.Sprintf("has %d elements, expected %d", len(got.integers)+len(got.reals),
			len(expected.integers)+len(expected.reals))
	}
	for i, v := range got.integers {
		if v != expected.integers[i] {
			return fmt.Sprintf("element %d is %d, expected %d", i, v, expected.integers[i])
		}
	}
	for i, v := range got.reals {
		if !agree(v, expected.reals[i], dtype, t) {
			return fmt.Sprintf("element %d is %.17g, expected %.17g", i, v, expected.reals[i])
		}
	}
	return ""
}

func agree(got, expected float64, dtype dlcore.DType, t tolerance) bool {
	if math.IsNaN(got) || math.IsNaN(expected) {
		return math.IsNaN(got) && math.IsNaN(expected)
	}
	rounded := roundTo(expected, dtype)
	if t.signedZero && rounded == 0 && math.Signbit(got) != math.Signbit(rounded) {
		return false
	}
	if got == rounded {
		return true
	}
	if math.IsInf(got, 0) || math.IsInf(expected, 0) {
		return false
	}
	allowed := t.Atol + t.Rtol*math.Abs(expected)
	if t.Ulp > 0 {
		allowed += t.Ulp * spacing(expected, dtype)
	}
	return math.Abs(got-expected) <= allowed
}

// spacing is the distance to the next number of the dtype.
func spacing(value float64, dtype dlcore.DType) float64 {
	fraction, least := 52, -1022
	switch dtype {
	case dlcore.F16:
		fraction, least = 10, -14
	case dlcore.BF16:
		fraction, least = 7, -126
	case dlcore.F32:
		fraction, least = 23, -126
	}
	exponent := least
	if value != 0 {
		exponent = max(math.Ilogb(value), least)
	}
	return math.Ldexp(1, exponent-fraction)
}

func roundTo(value float64, dtype dlcore.DType) float64 {
	if dtype == dlcore.F32 {
		return float64(float32(value))
	}
	if dtype == dlcore.F64 || value == 0 || math.IsInf(value, 0) {
		return value
	}
	step := spacing(value, dtype)
	rounded := math.RoundToEven(value/step) * step
	largest := 65504.0
	if dtype == dlcore.BF16 {
		largest = math.Ldexp(2-math.Ldexp(1, -7), 127)
	}
	if math.Abs(rounded) > largest {
		return math.Copysign(math.Inf(1), value)
	}
	return math.Copysign(rounded, value)
}

// within is "" when all elements lie in [low, high).
func within(got numbers, low, high float64) string {
	all := slices.Clone(got.reals)
	for _, v := range got.integers {
		all = append(all, float64(v))
	}
	for i, v := range all {
		if !(v >= low && v < high) {
			return fmt.Sprintf("element %d is %g, expected it in [%g, %g)", i, v, low, high)
		}
	}
	return ""
}
