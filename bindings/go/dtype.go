// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"fmt"
	"math"
)

// DType is the type of a tensor's elements. It is also the option of ops that make elements:
// dl.Full([]int{3}, 1, dlcore.F64).
type DType int32

// String is the name of the dtype, as "f32".
func (d DType) String() string {
	if name, ok := dtypeNames[d]; ok {
		return name
	}
	return fmt.Sprintf("dtype %d", int32(d))
}

// ParseDType returns the dtype of a name like "f32".
func ParseDType(name string) (DType, error) {
	for dtype, known := range dtypeNames {
		if known == name {
			return dtype, nil
		}
	}
	return 0, failure(InvalidArgument, "dtype: there is no '%s'", name)
}

// Float16 is an IEEE 754 binary16 number by its bits.
type Float16 uint16

// BFloat16 is the upper half of a float32.
type BFloat16 uint16

// Float32 is the number, exactly.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBFloat16 rounds to nearest even.
func ToBFloat16(v float32) BFloat16 {
	bits := math.Float32bits(v)
	if v != v {
		return BFloat16(bits>>16 | 0x40) // quiet, and still a NaN
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the number, exactly.
func (h Float16) Float32() float32 {
	sign, exponent, fraction := uint32(h)>>15<<31, uint32(h)>>10&31, uint32(h)&1023
	switch {
	case exponent == 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case exponent == 0: // zero or below the normal numbers, in steps of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ToFloat16 rounds to nearest even; what is too large becomes infinite.
func ToFloat16(v float32) Float16 {
	sign, size := Float16(math.Float32bits(v)>>16&0x8000), math.Abs(float64(v))
	switch {
	case v != v:
		return sign | 0x7e00
	case size >= 65520: // half a step above the largest number
		return sign | 0x7c00
	case size < 0x1p-14: // a carry out of the fraction gives the least normal number
		return sign | Float16(math.RoundToEven(size*0x1p24))
	}
	fraction, exponent := math.Frexp(size) // in [0.5, 1)
	return sign | Float16((exponent+14)<<10) + Float16(math.RoundToEven(fraction*2048)-1024)
}
