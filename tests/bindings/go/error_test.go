// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dlcore"
	"dlcore/nn"
	"dlcore/optim"
)

func TestErrorsStick(t *testing.T) {
	dl := open(t)
	a := dl.Full([]int{2, 3}, 1)
	y := a.Matmul(a).Relu().Sum() // matmul fails, the rest does nothing
	if _, err := y.Float32(); err == nil {
		t.Fatal("a value came out")
	}
	e := requireError(t, dl, dlcore.InvalidArgument, "matmul: inner dimensions differ: a is [2, 3], b is [2, 3]")
	if e.Op != "matmul" || e.Cause != nil {
		t.Errorf("the op is %q and the cause %v", e.Op, e.Cause)
	}
	if v, err := a.Sum().Float32(); err != nil || v != 6 {
		t.Errorf("after it was taken: %v, %v", v, err)
	}
}

func TestTheFirstErrorStays(t *testing.T) {
	dl := open(t)
	dl.Fail(fmt.Errorf("of the program: %w", io.EOF))
	dl.Tensor([]string{"x"})
	err := dl.TakeErr()
	if !errors.Is(err, io.EOF) || !errors.Is(err, dlcore.Unknown) {
		t.Errorf("the error is %v, expected that of the program", err)
	}
	if dl.TakeErr() != nil {
		t.Error("it was taken twice")
	}
}

func TestKindsOfErrors(t *testing.T) {
	dl := open(t)
	x := dl.Tensor([]float32{1, 2, 3})
	for _, c := range []struct {
		name  string
		run   func()
		code  dlcore.Code
		words string
	}{
		{"dtype", func() { _, _ = x.Float64s() }, dlcore.InvalidArgument, "f32"},
		{"count", func() { _ = dlcore.Read(x, make([]float32, 2)) }, dlcore.InvalidArgument, "tensor_read"},
		{"item", func() { _, _ = x.Float32() }, dlcore.InvalidArgument, "expected one element"},
		{"data", func() { dl.Tensor("text") }, dlcore.InvalidArgument, "data is a string"},
		{"shape", func() { dl.Tensor([]float32{1}, 2) }, dlcore.InvalidArgument, "tensor_create"},
		{"negative shape", func() { dl.Tensor([]float32{1}, -1) }, dlcore.InvalidArgument, "tensor_create"},
		{"rank", func() { dl.Full(make([]int, 17), 1) }, dlcore.InvalidArgument, "full"},
		{"overflow", func() { dl.Full([]int{1 << 40, 1 << 40}, 1) }, dlcore.InvalidArgument, "full"},
		{"operand", func() { x.Add("1") }, dlcore.InvalidArgument, "operand 1"},
		{"nil operand", func() { x.Add(nil) }, dlcore.InvalidArgument, "operand 1"},
		{"nil input", func() { x.Matmul(nil) }, dlcore.InvalidArgument, "matmul"},
		{"strides", func() { dl.Strided([]float32{1, 2}, []int{2}, []int{2}, 0) }, dlcore.InvalidArgument, "tensor_create_strided"},
		{"number of strides", func() { dl.Strided([]float32{1}, []int{1}, nil, 0) }, dlcore.InvalidArgument, "strides"},
		{"index", func() { x.Take(dl.Tensor([]int64{7}), 0) }, dlcore.OutOfRange, "7"},
		{"NUL", func() { _ = classifier(dl).SaveFile("a\x00b") }, dlcore.InvalidArgument, "NUL"},
		{"file", func() { _ = classifier(dl).LoadFile("/nowhere/x") }, dlcore.NotFound, "/nowhere/x"},
		{"data set", func() { dl.Data("idx:/nowhere/train").Batch(1).Open() }, dlcore.NotFound, "/nowhere"},
		{"scheme", func() { dl.Data("x:y").Batch(1).Open() }, dlcore.InvalidArgument, "unknown"},
		{"batch", func() { dl.FashionMNIST("train").Batch(0).Open() }, dlcore.InvalidArgument, "batch is 0"},
		{"layer", func() { nn.NewLinear(dl, -1, 2) }, dlcore.InvalidArgument, "linear"},
		{"choice", func() { x.Gelu(dlcore.Approximate("often")) }, dlcore.InvalidArgument, "often"},
		{"step", func() { optim.NewSGD(dl, classifier(dl).Parameters()).Step() }, dlcore.FailedPrecondition, "gradient"},
		{"find", func() { classifier(dl).Find("9.weight") }, dlcore.NotFound, "0.weight"},
		{"backward", func() { x.Backward() }, dlcore.InvalidArgument, "backward"},
		{"op", func() { _, _ = dl.FindOp("cat") }, dlcore.NotFound, "concat"},
		{"unknown op", func() { dl.Call(999_999, nil, nil, 1) }, dlcore.InvalidArgument, "999999"},
		{"graph", func() { dl.ParseGraph("graph {") }, dlcore.InvalidArgument, "graph"},
		{"pass", func() { makeEverything(t, dl).graph.Apply("faster") }, dlcore.NotFound, "faster"},
		{"device", func() { x.ToDevice("gpu9") }, dlcore.NotFound, "gpu9"},
		{"level", func() { dl.OpenVmap(-1) }, dlcore.InvalidArgument, "vmap"},
		{"nil x", func() { classifier(dl).Call(nil) }, dlcore.InvalidArgument, "x is nil"},
		{"nil parts", func() {
			dlcore.NewCheckpoint(dl).AddModule("m", nil).AddLoader("l", nil).AddOptimizer("o", nil).AddVariable("v", nil)
		}, dlcore.InvalidArgument, "module is nil"},
		{"outputs", func() { dl.Call(1, nil, nil, -1) }, dlcore.InvalidArgument, "outputs is -1"},
		{"order of levels", func() {
			outer, inner := dl.OpenJVP(), dl.OpenJVP()
			outer.Close()
			inner.Close()
			outer.Close()
		}, dlcore.FailedPrecondition, "innermost"},
		{"layer that is no struct", func() { nn.Define(dl, notStruct(1)) }, dlcore.InvalidArgument, "pointer to a struct"},
		{"closed loader", func() {
			loader := points(dl, 4).Batch(2)
			loader.Close()
			loader.Next()
		}, dlcore.FailedPrecondition, "the loader has been closed"},
		{"nil module", func() { nn.NewSequential(dl, nil) }, dlcore.InvalidArgument, "nil"},
		{"nil parameter", func() { optim.NewAdam(dl, []*dlcore.Variable{nil}) }, dlcore.InvalidArgument, "nil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run()
			requireError(t, dl, c.code, c.words)
		})
	}
}

func TestErrorsBeforeThereIsAContext(t *testing.T) {
	_, err := dlcore.Open("gpu9")
	requireKind(t, err, dlcore.NotFound, "gpu9", "cpu")
	_, err = dlcore.OpenEngine(dlcore.Threads(-1))
	requireKind(t, err, dlcore.InvalidArgument, "-1")
	_, err = openEngine(t).Context("c\x00pu")
	requireKind(t, err, dlcore.InvalidArgument, "NUL")
	requireKind(t, openEngine(t).LoadPlugin("/nowhere.so"), dlcore.NotFound, "/nowhere.so")
	_, err = dlcore.AdoptEngine(0)
	requireKind(t, err, dlcore.InvalidArgument)
}

func TestContextsDoNotMix(t *testing.T) {
	dl := open(t)
	other, err := dl.Engine().Context("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	a, b := dl.Tensor(1.0), other.Tensor(2.0)
	a.Add(b)
	requireError(t, dl, dlcore.InvalidArgument, "another context")
	requireValues(t, a.Add(b.On(dl)), 3)
	requireValues(t, classifier(dl).Call(other.Full([]int{1, 4}, 0)).Multiply(0), 0, 0, 0) // on its input's
	requireOK(t, dl)
	requireOK(t, other)

	stranger := open(t)
	stranger.Tensor(1.0).On(dl)
	requireError(t, dl, dlcore.InvalidArgument, "another engine")
	classifier(stranger).Call(dl.Full([]int{1, 4}, 0))
	requireError(t, dl, dlcore.InvalidArgument, "another engine")
}

func TestAGoroutineThatIntrudesIsRefused(t *testing.T) {
	dl := open(t)
	entered, leave := make(chan bool), make(chan bool)
	op, err := dl.Register(dlcore.CustomOp{
		Name: "wait", Inputs: 1, Outputs: 1,
		Infer: func(dl *dlcore.Context, c *dlcore.OpCall) error { c.SetOutputLike(0, c.Input(0)); return nil },
		Forward: func(dl *dlcore.Context, c *dlcore.OpCall) error {
			entered <- true
			<-leave
			c.SetOutput(0, c.Input(0).Multiply(2))
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	x := dl.Tensor(1.0)
	go func() {
		<-entered
		if _, err := x.Add(1).Float64(); !errors.Is(err, dlcore.FailedPrecondition) {
			t.Errorf("the intruder was served: %v", err)
		}
		if x.Size() != 1 { // what cannot fail is answered to anybody
			t.Error("the intruder got no size")
		}
		leave <- true
	}()
	dl.Call(op, []*dlcore.Tensor{x}, nil, 1)
	requireError(t, dl, dlcore.FailedPrecondition, "another goroutine")
}

func TestMemoryThatRunsOut(t *testing.T) {
	engine, err := dlcore.OpenEngine(dlcore.MemoryLimit(1 << 20))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	dl, err := engine.Context("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer dl.Close()
	dl.Full([]int{1 << 20}, 1)
	requireError(t, dl, dlcore.ResourceExhausted)
	requireValues(t, dl.Full([]int{2}, 1), 1, 1)
	engine.FailAllocation(1)
	dl.Full([]int{1 << 10}, 1)
	requireError(t, dl, dlcore.ResourceExhausted)
}

func TestFilesWithoutPermission(t *testing.T) {
	dl := open(t)
	path := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := classifier(dl).SaveFile(path); err == nil {
		t.Error("a folder was replaced by a file")
	}
	dl.TakeErr()
}

type notStruct int

func (notStruct) Forward(dl *dlcore.Context, x *dlcore.Tensor) *dlcore.Tensor { return x }
