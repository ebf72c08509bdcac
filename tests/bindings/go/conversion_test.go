// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"dlcore"
)

// requireRoundTrip sends elements there and back, with the extremes of the type.
func requireRoundTrip[T dlcore.Element](t *testing.T, dl *dlcore.Context, dtype dlcore.DType, values ...T) {
	t.Helper()
	x := dl.Tensor(values, 1, len(values))
	if x.DType() != dtype || !slices.Equal(x.Shape(), []int{1, len(values)}) || dlcore.DTypeOf[T]() != dtype {
		t.Fatalf("%T became %s %v", values, x.DType(), x.Shape())
	}
	got, err := dlcore.Values[T](x)
	if err != nil || !slices.Equal(got, values) {
		t.Errorf("%s: %v came back as %v, %v", dtype, values, got, err)
	}
	one, err := dlcore.Item[T](dl.Tensor(values[1]))
	if err != nil || one != values[1] || dl.Tensor(values[1]).Rank() != 0 {
		t.Errorf("%s: a value came back as %v, %v", dtype, one, err)
	}
	empty, err := dlcore.Values[T](dl.Tensor(values[:0], 0, 16))
	if err != nil || len(empty) != 0 {
		t.Errorf("%s: nothing came back as %v, %v", dtype, empty, err)
	}
	name, err := dlcore.ParseDType(dtype.String())
	if err != nil || name != dtype {
		t.Errorf("%s: its name means %v, %v", dtype, name, err)
	}
}

func TestEveryDTypeCrosses(t *testing.T) {
	dl := open(t)
	requireRoundTrip(t, dl, dlcore.Bool, false, true)
	requireRoundTrip(t, dl, dlcore.U8, 0, uint8(math.MaxUint8))
	requireRoundTrip(t, dl, dlcore.I8, int8(math.MinInt8), math.MaxInt8)
	requireRoundTrip(t, dl, dlcore.I16, int16(math.MinInt16), math.MaxInt16)
	requireRoundTrip(t, dl, dlcore.I32, int32(math.MinInt32), math.MaxInt32)
	requireRoundTrip(t, dl, dlcore.I64, int64(math.MinInt64), math.MaxInt64)
	requireRoundTrip(t, dl, dlcore.F16, dlcore.ToFloat16(-1.5), dlcore.ToFloat16(65504))
	requireRoundTrip(t, dl, dlcore.BF16, dlcore.ToBFloat16(-1.5), dlcore.ToBFloat16(3e38))
	requireRoundTrip(t, dl, dlcore.F32, float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32)
	requireRoundTrip(t, dl, dlcore.F64, math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64)
	requireValues(t, dl.Tensor([]int{1, -2}), 1, -2)
	requireOK(t, dl)
}

// The engine converts by definition: f32 to a half and back.
func TestHalvesAreRoundedAsByTheEngine(t *testing.T) {
	dl := open(t)
	values := []float32{0, 1, -1, 65519, 65520, 1e9, 3e-8, 2.98e-8, 6e-5, 6.1e-5, 1.00048828125, 1.0014648, 0.1, -3.4e38, 2047.5, 2049}
	for i := range 2000 {
		values = append(values, float32(i-1000)*float32(math.Pow(2, float64(i%60-30)))/7)
	}
	x := dl.Tensor(values)
	halves, err := dlcore.Values[dlcore.Float16](x.Astype(dlcore.F16))
	if err != nil {
		t.Fatal(err)
	}
	tops, err := dlcore.Values[dlcore.BFloat16](x.Astype(dlcore.BF16))
	if err != nil {
		t.Fatal(err)
	}
	widened, err := x.Astype(dlcore.F16).Astype(dlcore.F32).Float32s()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if dlcore.ToFloat16(v) != halves[i] || halves[i].Float32() != widened[i] {
			t.Errorf("f16 of %g is %#x and back %g, expected %#x and %g", v, dlcore.ToFloat16(v), halves[i].Float32(), halves[i], widened[i])
		}
		if dlcore.ToBFloat16(v) != tops[i] {
			t.Errorf("bf16 of %g is %#x, expected %#x", v, dlcore.ToBFloat16(v), tops[i])
		}
	}
	nan := float32(math.NaN())
	if back := dlcore.ToFloat16(nan).Float32(); back == back {
		t.Error("f16 loses NaN")
	}
	if back := dlcore.ToBFloat16(nan).Float32(); back == back {
		t.Error("bf16 loses NaN")
	}
}

func TestStridedElements(t *testing.T) {
	dl := open(t)
	data := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11} // 3 by 4
	requireValues(t, dl.Strided(data, []int{3, 2}, []int{4, 1}, 1), 1, 2, 5, 6, 9, 10)
	requireValues(t, dl.Strided(data, []int{2, 3}, []int{1, 4}, 1), 1, 5, 9, 2, 6, 10)
	requireValues(t, dl.Strided(data, []int{3}, []int{-4}, 11), 11, 7, 3)
	requireValues(t, dl.Strided(data, []int{3}, []int{0}, 5), 5, 5, 5)
	requireValues(t, dl.Strided([]int16{7, 8, 9}, []int{}, []int{}, 2), 9)
	view := dl.Tensor(data, 3, 4).Slice([]int{0, 1}, []int{3, 3})
	requireValues(t, view, 1, 2, 5, 6, 9, 10)
	d, err := view.PermuteDims([]int{1, 0}).Describe()
	if err != nil || !slices.Equal(d.Strides, []int{1, 4}) || d.Contiguous || d.Device != "cpu" {
		t.Errorf("the view is %+v, %v", d, err)
	}
	bytes, err := view.Bytes()
	if err != nil || len(bytes) != 48 {
		t.Errorf("the view has %d bytes, %v", len(bytes), err)
	}
	requireOK(t, dl)
}

func TestWhatIsGivenIsCopied(t *testing.T) {
	dl := open(t)
	data := []float32{1, 2}
	x := dl.Tensor(data)
	data[0] = 9
	requireValues(t, x, 1, 2)
}

func TestNumbersTakeTheDTypeTheyMeet(t *testing.T) {
	dl := open(t)
	x, n := dl.Tensor([]float32{3}), dl.Tensor([]int32{3})
	for _, c := range []struct {
		y     *dlcore.Tensor
		dtype dlcore.DType
		value float64
	}{
		{x.Multiply(2), dlcore.F32, 6}, {x.Multiply(2.5), dlcore.F32, 7.5}, {n.Multiply(2), dlcore.I32, 6},
		{dl.Subtract(1, x), dlcore.F32, -2}, {dl.Subtract(1.5, x), dlcore.F32, -1.5},
		{x.Less(4), dlcore.Bool, 1}, {x.Add(float32(1)), dlcore.F32, 4}, {n.Add(int64(1)), dlcore.I32, 4},
		{x.Greater(2).Where(x, 0), dlcore.F32, 3}, {dl.Weak(2).Add(x), dlcore.F32, 5}, {dl.Add(1, 2), dlcore.I64, 3},
	} {
		if c.y.DType() != c.dtype {
			t.Errorf("the result is %s, expected %s", c.y.DType(), c.dtype)
		}
		requireValues(t, c.y, c.value)
	}
}

func TestOptions(t *testing.T) {
	dl := open(t)
	x := dl.Tensor([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	requireValues(t, x.Sum(), 21)
	requireValues(t, x.Sum(dlcore.Axes{0}), 5, 7, 9)
	requireValues(t, x.Sum(dlcore.Axes{}), 1, 2, 3, 4, 5, 6)
	requireValues(t, x.Sum(dlcore.Axes(nil)), 21)
	if shape := x.Sum(dlcore.Keepdims(true), dlcore.Axes{-1}).Shape(); !slices.Equal(shape, []int{2, 1}) {
		t.Errorf("the shape is %v", shape)
	}
	requireValues(t, x.Argmax(dlcore.Axis(1)), 2, 2)
	requireValues(t, x.Argmax(), 5)
	requireValues(t, x.Clip(dlcore.Min(2), dlcore.Max(4)), 2, 2, 3, 4, 4, 4)
	requireValues(t, dl.Arange(0, 3, 1, dlcore.F32), 0, 1, 2)
	requireValues(t, dl.Eye(2, dlcore.M(3)), 1, 0, 0, 0, 1, 0)
	requireValues(t, dl.Concat([]*dlcore.Tensor{x, x}, 0).Sum(), 42)
	requireValues(t, x.LayerNorm(nil, dl.Tensor([]float32{1, 1, 1})).Mean(), 1)
	requireOK(t, dl)
}

func TestTextCrossesAsUTF8(t *testing.T) {
	dl := open(t)
	const name = "w\U0001F642ü"
	v := dlcore.NewVariable(dl, name, dl.Tensor(1.0))
	if v.Name() != name || !slices.Equal([]byte(v.Name())[1:5], []byte{0xF0, 0x9F, 0x99, 0x82}) {
		t.Errorf("the name came back as %q", v.Name())
	}
	path := filepath.Join(t.TempDir(), name+".safetensors")
	if err := dl.SaveTensors(path, map[string]*dlcore.Tensor{name: dl.Tensor(1.0)}); err != nil {
		t.Fatal(err)
	}
	if names := dl.OpenArchive(path).Names(); !slices.Equal(names, []string{name}) {
		t.Errorf("the archive has %q", names)
	}
	state := dlcore.NewCheckpoint(dl)
	state.SetText("k\U0001F642", name)
	state.SetText("empty", "")
	var file bytes.Buffer
	if err := state.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded := dlcore.NewCheckpoint(dl)
	if err := loaded.LoadBytes(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	if text, ok := loaded.Text("k\U0001F642"); !ok || text != name {
		t.Errorf("the text came back as %q, %v", text, ok)
	}
	if text, ok := loaded.Text("empty"); !ok || text != "" {
		t.Errorf("an empty text came back as %q, %v", text, ok)
	}
	loaded.DeleteText("empty")
	if _, ok := loaded.Text("empty"); ok {
		t.Error("a deleted text is there")
	}
	dl.Tensor(1.0).ToDevice(name)
	requireError(t, dl, dlcore.NotFound, name)
}

func TestRendering(t *testing.T) {
	dl := open(t)
	x := dl.Tensor([]float32{1, 2})
	if text := x.String(); text == "" || text == "closed tensor" {
		t.Errorf("it is shown as %q", text)
	}
	x.Close()
	if x.String() != "closed tensor" || x.Shape() != nil || x.DType() != 0 || x.Rank() != -1 || x.Dim(0) != -1 {
		t.Error("a closed tensor says something")
	}
	requireOK(t, dl)
}
