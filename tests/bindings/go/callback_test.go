// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"dlcore"
	"dlcore/nn"
	"dlcore/optim"
)

// cube is x^3, its derivative written in ops.
func cube(name string) dlcore.CustomOp {
	return dlcore.CustomOp{
		Name: name, Inputs: 1, Outputs: 1, Attributes: 1,
		Infer: func(dl *dlcore.Context, c *dlcore.OpCall) error { c.SetOutputLike(0, c.Input(0)); return nil },
		Forward: func(dl *dlcore.Context, c *dlcore.OpCall) error {
			x := c.Input(0)
			c.SetOutput(0, x.Square().Multiply(x).Multiply(int(c.Attribute(0))))
			return nil
		},
		Backward: func(dl *dlcore.Context, c *dlcore.OpCall) error {
			if c.NeedsGradient(0) {
				slope := c.Input(0).Square().Multiply(3 * int(c.Attribute(0)))
				c.SetInputGradient(0, c.Gradient(0).Multiply(slope))
			}
			return nil
		},
	}
}

func TestCustomOp(t *testing.T) {
	dl := open(t)
	op, err := dl.Register(cube("go_cube"))
	if err != nil {
		t.Fatal(err)
	}
	x := dl.Tensor([]float64{0.3, -0.7, 2})
	y := dl.Call(op, []*dlcore.Tensor{x}, []int64{2}, 1)[0]
	requireValues(t, y, 0.054, -0.686, 16)
	err = dl.Gradcheck(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		return dl.Call(op, xs, []int64{2}, 1)[0].Sum()
	}, 2, 0, x)
	if err != nil {
		t.Error(err)
	}
	if found, err := dl.FindOp("go_cube"); err != nil || found != op || dl.OpName(op) != "go_cube" {
		t.Errorf("by its name it is %d, %v, expected %d", found, err, op)
	}
	_, err = dl.Register(cube("go_cube"))
	requireKind(t, err, dlcore.AlreadyExists, "go_cube")
	requireError(t, dl, dlcore.AlreadyExists)
	_, err = dl.Register(dlcore.CustomOp{Name: "half"})
	requireKind(t, err, dlcore.InvalidArgument, "Forward")
	requireError(t, dl, dlcore.InvalidArgument)
}

func TestAnOpOfAnotherBinding(t *testing.T) {
	dl := open(t)
	op, err := dl.Register(cube("shared"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := dlcore.AdoptEngine(dl.Engine().Handle()) // as another binding would
	if err != nil {
		t.Fatal(err)
	}
	other, err := engine.Context("cpu")
	if err != nil {
		t.Fatal(err)
	}
	found, err := other.FindOp("shared")
	if err != nil || found != op {
		t.Fatalf("it is %d, %v, expected %d", found, err, op)
	}
	requireValues(t, other.Call(found, []*dlcore.Tensor{other.Tensor(2.0)}, []int64{1}, 1)[0], 8)
	other.Close()
	engine.Close()
	requireValues(t, dl.Tensor(2.0).Add(1), 3) // closing a share leaves the engine open
}

// failing fails in one of its functions, by an error or a panic.
func failing(name, where string, panics bool) dlcore.CustomOp {
	op := cube(name)
	fail := func(*dlcore.Context, *dlcore.OpCall) error {
		if panics {
			panic("boom \U0001F642")
		}
		return errors.New("boom \U0001F642")
	}
	switch where {
	case "infer":
		op.Infer = fail
	case "forward":
		op.Forward = fail
	default:
		op.Backward = fail
	}
	return op
}

func TestCallbacksThatFail(t *testing.T) {
	dl := open(t)
	for _, where := range []string{"infer", "forward", "backward"} {
		for _, panics := range []bool{false, true} {
			name := where
			if panics {
				name += "_panic"
			}
			t.Run(name, func(t *testing.T) {
				op, err := dl.Register(failing(name, where, panics))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = dl.ValueAndGrad(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
					return dl.Call(op, xs, []int64{1}, 1)[0]
				}, dl.Tensor(1.0))
				code := map[bool]dlcore.Code{false: dlcore.Unknown, true: dlcore.Internal}[panics]
				if e := requireError(t, dl, code, where, "boom \U0001F642"); e.Cause == nil {
					t.Error("it has no cause")
				}
			})
		}
	}
}

func TestErrorsOfEngineCallsInCallbacks(t *testing.T) {
	dl := open(t)
	op := cube("mismatch")
	op.Forward = func(dl *dlcore.Context, c *dlcore.OpCall) error {
		c.SetOutput(0, c.Input(0).Matmul(dl.Full([]int{7}, 1)))
		return nil
	}
	number, err := dl.Register(op)
	if err != nil {
		t.Fatal(err)
	}
	dl.Call(number, []*dlcore.Tensor{dl.Full([]int{3}, 1)}, []int64{1}, 1)
	e := requireError(t, dl, dlcore.InvalidArgument, "matmul")
	var cause *dlcore.Error
	if !errors.As(e.Cause, &cause) || cause.Op != "matmul" {
		t.Errorf("the cause is %#v", e.Cause)
	}
	op = cube("of_the_program")
	op.Forward = func(*dlcore.Context, *dlcore.OpCall) error { return fmt.Errorf("reading: %w", io.ErrUnexpectedEOF) }
	if number, err = dl.Register(op); err != nil {
		t.Fatal(err)
	}
	dl.Call(number, []*dlcore.Tensor{dl.Tensor(1.0)}, []int64{1}, 1)
	if err := dl.TakeErr(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error of the program is lost: %#v", err)
	}
	requireValues(t, dl.Tensor(1.0), 1)
}

type residual struct {
	Body   *dlcore.Module
	Others []*dlcore.Module
	Scale  *dlcore.Variable
	hidden int
}

func (r *residual) Forward(dl *dlcore.Context, x *dlcore.Tensor) *dlcore.Tensor {
	y := r.Body.Call(x)
	for _, other := range r.Others {
		y = other.Call(y)
	}
	if r.hidden == 1 {
		panic("hidden")
	}
	return x.Add(y.Multiply(r.Scale.Value()))
}

func newResidual(dl *dlcore.Context, hidden int) *dlcore.Module {
	return nn.Define(dl, &residual{
		Body: nn.NewLinear(dl, 4, 4), Others: []*dlcore.Module{nn.NewTanh(dl), nn.NewLinear(dl, 4, 4)},
		Scale: dlcore.NewVariable(dl, "scale", dl.Full([]int{1}, 1)), hidden: hidden,
	})
}

func TestLayersInGo(t *testing.T) {
	dl := open(t)
	model := nn.NewSequential(dl, newResidual(dl, 0), nn.NewLinear(dl, 4, 3))
	var paths []string
	for path := range model.Variables() {
		paths = append(paths, path)
	}
	if got := strings.Join(paths, " "); !strings.Contains(got, "0.scale") || !strings.Contains(got, "0.body.weight") ||
		!strings.Contains(got, "0.others1.bias") || !strings.Contains(got, "1.weight") {
		t.Fatalf("the paths are %s", got)
	}
	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-2))
	loader := points(dl, 64).Batch(16).Open()
	frozen, probe := model.Snapshot(), dl.Full([]int{1, 4}, 0.5)
	before, _ := frozen.Call(probe).Float32s()
	var first, last float32
	for range 20 {
		for x, y := range loader.All() {
			loss := dl.CrossEntropy(model.Call(x), y)
			loss.Backward()
			adam.Step()
			last, _ = loss.Float32()
			if first == 0 {
				first = last
			}
		}
	}
	requireOK(t, dl)
	if last >= first {
		t.Errorf("the loss went from %g to %g", first, last)
	}
	after, _ := frozen.Call(probe).Float32s()
	if before[0] != after[0] {
		t.Error("the snapshot of a layer in Go changed")
	}
	newResidual(dl, 1).Call(probe)
	requireError(t, dl, dlcore.Internal, "residual", "panic: hidden")
	if kind := newResidual(dl, 0).Kind(); kind != "residual" {
		t.Errorf("its kind is %q", kind)
	}
}

func TestCallbacksAreForgotten(t *testing.T) {
	engine := openEngine(t)
	for range 3 {
		dl, err := engine.Context("cpu")
		if err != nil {
			t.Fatal(err)
		}
		newResidual(dl, 0).Call(dl.Full([]int{1, 4}, 1))
		requireOK(t, dl)
		dl.Close()
		requireNothingAlive(t, engine)
	}
}

// brokenPipe takes some bytes, or gives those it has, and then fails.
type brokenPipe struct {
	left int
	data []byte
}

var errPipe = errors.New("broken pipe \U0001F642")

func (p *brokenPipe) Write(data []byte) (int, error) {
	if p.left -= len(data); p.left < 0 {
		return 0, errPipe
	}
	return len(data), nil
}

func (p *brokenPipe) Read(buffer []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, errPipe
	}
	n := copy(buffer, p.data)
	p.data = p.data[n:]
	return n, nil
}

func TestStreams(t *testing.T) {
	dl := open(t)
	model, copied := classifier(dl), classifier(dl)
	var file bytes.Buffer
	if err := model.Save(&file); err != nil {
		t.Fatal(err)
	}
	saved := file.Bytes()
	if err := copied.Load(iotestOneByte{bytes.NewReader(saved)}); err != nil {
		t.Fatal(err)
	}
	if err := copied.LoadBytes(saved); err != nil {
		t.Fatal(err)
	}
	x := dl.Full([]int{1, 4}, 0.5)
	requireValues(t, model.Call(x).Subtract(copied.Call(x)), 0, 0, 0)
	if names := dl.ReadArchive(bytes.NewReader(saved)).Names(); len(names) != 4 {
		t.Errorf("the file has %v", names)
	}
	for name, run := range map[string]func() error{
		"write": func() error { return model.Save(&brokenPipe{left: 10}) },
		"read":  func() error { return copied.Load(&brokenPipe{data: saved[:100]}) },
		"open":  func() error { dl.ReadArchive(&brokenPipe{data: saved[:100]}); return dl.Err() },
		"check": func() error { return dlcore.NewCheckpoint(dl).Save(&brokenPipe{left: 10}) },
		"names": func() error { return dl.WriteTensors(&brokenPipe{left: 1}, map[string]*dlcore.Tensor{"x": x}) },
	} {
		err := run()
		if !errors.Is(err, errPipe) || !strings.Contains(err.Error(), "broken pipe \U0001F642") {
			t.Errorf("%s: the error is %v", name, err)
		}
		dl.TakeErr()
	}
	requireKind(t, copied.Load(bytes.NewReader(saved[:20])), dlcore.DataLoss)
	dl.TakeErr()
}

type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(buffer []byte) (int, error) { return o.r.Read(buffer[:1]) }
