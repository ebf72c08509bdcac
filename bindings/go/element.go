// SPDX-License-Identifier: Apache-2.0

package dlcore

import (
	"unsafe"

	"dlcore/internal/raw"
)

// Element is a Go type whose values are a tensor's elements as they are.
type Element interface {
	bool | uint8 | int8 | int16 | int32 | int64 | Float16 | BFloat16 | float32 | float64
}

// DTypeOf is the dtype of a Go type.
func DTypeOf[T Element]() DType {
	var v T
	return dtypeOf(v)
}

func dtypeOf(v any) DType {
	switch v.(type) {
	case bool:
		return Bool
	case uint8:
		return U8
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case float32:
		return F32
	case float64:
		return F64
	}
	return 0
}

func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// elements are the bytes and the dtype of a slice; ints become i64. A single value is one element.
func elements(data any) ([]byte, DType) {
	switch v := data.(type) {
	case []bool:
		return bytesOf(v), Bool
	case []uint8:
		return v, U8
	case []int8:
		return bytesOf(v), I8
	case []int16:
		return bytesOf(v), I16
	case []int32:
		return bytesOf(v), I32
	case []int64:
		return bytesOf(v), I64
	case []int:
		return bytesOf(int64s(v)), I64
	case []Float16:
		return bytesOf(v), F16
	case []BFloat16:
		return bytesOf(v), BF16
	case []float32:
		return bytesOf(v), F32
	case []float64:
		return bytesOf(v), F64
	}
	return nil, 0
}

// scalar is a slice of a single value.
func scalar(data any) any {
	switch v := data.(type) {
	case bool:
		return []bool{v}
	case uint8:
		return []uint8{v}
	case int8:
		return []int8{v}
	case int16:
		return []int16{v}
	case int32:
		return []int32{v}
	case int64:
		return []int64{v}
	case int:
		return []int{v}
	case Float16:
		return []Float16{v}
	case BFloat16:
		return []BFloat16{v}
	case float32:
		return []float32{v}
	case float64:
		return []float64{v}
	}
	return data
}

// Tensor makes a tensor with a copy of data in row-major order: a slice of an [Element] or of int,
// which becomes i64, or a single value. Without a shape a slice has one axis, and a value none.
func (dl *Context) Tensor(data any, shape ...int) *Tensor {
	f := dl.begin("tensor_create")
	defer f.end()
	slice := scalar(data)
	bytes, dtype := elements(slice)
	if dtype == 0 {
		f.fail(InvalidArgument, "data is a %T, expected a slice or a value of bool, a number, Float16 or BFloat16", data)
	}
	if _, isSlice := elements(data); isSlice != 0 && len(shape) == 0 && f.ok() {
		shape = []int{len(bytes) / int(raw.DtypeSize(int32(dtype)))}
	}
	if !f.ok() {
		return dl.none
	}
	return f.create(dtype, shape, bytes)
}

func (f *frame) create(dtype DType, shape []int, bytes []byte) *Tensor {
	dims := int64s(shape)
	return f.made(raw.TensorCreate(f.ctx, int32(dtype), raw.Pointer(dims), int32(len(dims)), raw.Pointer(bytes),
		uint64(len(bytes))))
}

// FromBytes makes a tensor from the memory of its elements, in row-major order.
func (dl *Context) FromBytes(bytes []byte, dtype DType, shape ...int) *Tensor {
	f := dl.begin("tensor_create")
	defer f.end()
	if !f.ok() {
		return dl.none
	}
	return f.create(dtype, shape, bytes)
}

// Strided makes a tensor from elements that lie apart: (i, j, ...) is read at data[offset + i *
// strides[0] + j * strides[1] + ...]. Strides may be 0 or negative.
func (dl *Context) Strided(data any, shape, strides []int, offset int) *Tensor {
	f := dl.begin("tensor_create_strided")
	defer f.end()
	bytes, dtype := elements(data)
	if dtype == 0 {
		f.fail(InvalidArgument, "data is a %T, expected a slice of bool, numbers, Float16 or BFloat16", data)
	}
	if len(strides) != len(shape) {
		f.fail(InvalidArgument, "strides are %v, expected %d of them for the shape %v", strides, len(shape), shape)
	}
	if !f.ok() {
		return dl.none
	}
	dims, steps := int64s(shape), int64s(strides)
	return f.made(raw.TensorCreateStrided(f.ctx, int32(dtype), raw.Pointer(dims), raw.Pointer(steps), int32(len(dims)),
		raw.Pointer(bytes), uint64(len(bytes))/raw.DtypeSize(int32(dtype)), int64(offset)))
}

// Read copies the elements to a slice as long as the tensor, in row-major order. The Go type must be
// that of the dtype.
func Read[T Element](t *Tensor, into []T) error {
	return t.read("tensor_read", DTypeOf[T](), bytesOf(into))
}

func (t *Tensor) read(what string, dtype DType, into []byte) error {
	f := t.dl.begin(what)
	defer f.end()
	if handle := f.tensor("tensor", t); f.ok() {
		f.status(raw.TensorRead(f.ctx, handle, int32(dtype), raw.Pointer(into), uint64(len(into))))
	}
	return f.outcome()
}

// outcome is the error that keeps a value from leaving the engine.
func (f *frame) outcome() error {
	if f.err != nil {
		f.dl.stick(f.err)
	}
	return f.dl.Err()
}

// Values copies the elements to a new slice, in row-major order.
func Values[T Element](t *Tensor) ([]T, error) {
	values := make([]T, max(t.Size(), 0))
	if err := Read(t, values); err != nil {
		return nil, err
	}
	return values, nil
}

// Item is the only element of a tensor.
func Item[T Element](t *Tensor) (T, error) {
	var values [1]T
	if size := t.Size(); size != 1 && size >= 0 {
		f := t.dl.begin("item")
		f.fail(InvalidArgument, "the tensor is %v, expected one element", t.Shape())
		f.end()
	}
	err := Read(t, values[:])
	return values[0], err
}

// Bytes copies the memory of the elements, in row-major order.
func (t *Tensor) Bytes() ([]byte, error) {
	dtype := t.DType()
	bytes := make([]byte, uint64(max(t.Size(), 0))*raw.DtypeSize(int32(dtype)))
	if err := t.read("tensor_read", dtype, bytes); err != nil {
		return nil, err
	}
	return bytes, nil
}

// Float32 is the only element of an f32 tensor.
func (t *Tensor) Float32() (float32, error) { return Item[float32](t) }

// Float64 is the only element of an f64 tensor.
func (t *Tensor) Float64() (float64, error) { return Item[float64](t) }

// Int64 is the only element of an i64 tensor.
func (t *Tensor) Int64() (int64, error) { return Item[int64](t) }

// Int32 is the only element of an i32 tensor.
func (t *Tensor) Int32() (int32, error) { return Item[int32](t) }

// Bool is the only element of a tensor of booleans.
func (t *Tensor) Bool() (bool, error) { return Item[bool](t) }

// Float32s copies the elements of an f32 tensor, in row-major order.
func (t *Tensor) Float32s() ([]float32, error) { return Values[float32](t) }

// Float64s copies the elements of an f64 tensor, in row-major order.
func (t *Tensor) Float64s() ([]float64, error) { return Values[float64](t) }

// Int64s copies the elements of an i64 tensor, in row-major order.
func (t *Tensor) Int64s() ([]int64, error) { return Values[int64](t) }
