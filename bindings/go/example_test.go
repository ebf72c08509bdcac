// SPDX-License-Identifier: Apache-2.0

package dlcore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"dlcore"
	"dlcore/nn"
	"dlcore/optim"
)

func open() *dlcore.Context {
	dl, err := dlcore.Open("cpu", dlcore.Seed(42))
	if err != nil {
		log.Fatal(err)
	}
	return dl
}

// Numbers take the dtype of the tensors they meet; options are named types.
func Example() {
	dl := open()
	defer dl.Close()
	x := dl.Tensor([]float32{1, 2, 3, 4}, 2, 2)
	y := x.Multiply(2).Add(1).Sum(dlcore.Axes{1}) // [2 (1 + 2) + 2, 2 (3 + 4) + 2]
	values, err := y.Float32s()
	fmt.Println(values, err)
	// Output: [8 16] <nil>
}

// The first failure of a chain comes out at its end.
func ExampleContext_TakeErr() {
	dl := open()
	defer dl.Close()
	a := dl.Full([]int{2, 3}, 1)
	_, err := a.Matmul(a).Relu().Sum().Float32()
	fmt.Println(errors.Is(err, dlcore.InvalidArgument), err)
	dl.TakeErr() // from here on calls run again
	total, err := a.Sum().Float32()
	fmt.Println(total, err)
	// Output:
	// true matmul: inner dimensions differ: a is [2, 3], b is [2, 3]; did you mean transpose_b?
	// 6 <nil>
}

// Each turn of a loop gives back what it made.
func ExampleLoader_All() {
	dl := open()
	defer dl.Close()
	x := dl.RandomUniform([]int{100, 2})
	labels := x.Sum(dlcore.Axes{1}).Greater(1).Astype(dlcore.I64)
	model := nn.NewSequential(dl, nn.NewLinear(dl, 2, 16), nn.NewTanh(dl), nn.NewLinear(dl, 16, 2))
	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-2))
	train := dl.FromTensors(x, labels).Batch(20).Shuffle()
	for range 50 {
		for x, y := range train.All() {
			dl.CrossEntropy(model.Call(x), y).Backward()
			adam.Step()
		}
	}
	right, err := model.Call(x).Argmax(dlcore.Axis(1)).Equal(labels).Sum().Int64()
	fmt.Println(right > 90, err)
	// Output: true <nil>
}

// A schedule sets the learning rate at each of its steps.
func ExampleSchedule() {
	dl := open()
	defer dl.Close()
	model := nn.NewLinear(dl, 4, 2)
	sgd := optim.NewSGD(dl, model.Parameters(), optim.LR(0.1))
	rates := optim.NewStepLR(sgd, 2, optim.Gamma(0.5))
	for range 4 {
		model.Call(dl.Full([]int{1, 4}, 1)).Sum().Backward()
		sgd.Step()
		rates.Step()
	}
	rate, err := sgd.LearningRate(0).Value().Float64()
	fmt.Println(rate, err)
	// Output: 0.025 <nil>
}

// A scope gives back what is made while it is the innermost one.
func ExampleContext_Scope() {
	dl := open()
	defer dl.Close()
	total := dl.Tensor(float32(0))
	for range 1000 {
		scope := dl.Scope()
		next := total.Add(dl.RandomUniform([]int{64}).Mean()).Keep() // belongs to the scope around now
		scope.Close()
		total.Close()
		total = next
	}
	v, err := total.Float32()
	fmt.Println(v > 450 && v < 550, err)
	// Output: true <nil>
}

// A request ends with its context.Context, and leaves the others alone.
func ExampleContext_With() {
	dl := open()
	defer dl.Close()
	ctx, cancel := context.WithCancel(context.Background())
	request := dl.With(ctx)
	cancel()
	_, err := request.Full([]int{3}, 1).Sum().Float32()
	fmt.Println(errors.Is(err, context.Canceled), dl.Err())
	// Output: true <nil>
}

// Goroutines share an engine, and a model through a snapshot; each has a context of its own.
func ExampleModule_Snapshot() {
	dl := open()
	defer dl.Close()
	model := nn.NewLinear(dl, 4, 2)
	frozen := model.Snapshot()
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			worker, err := dl.Engine().Context("cpu", dlcore.Inferring())
			if err != nil {
				log.Print(err)
				return
			}
			defer worker.Close()
			if _, err := frozen.Call(worker.Full([]int{1, 4}, 1)).Float32s(); err != nil {
				log.Print(err)
			}
		}()
	}
	group.Wait()
	fmt.Println(dl.Err())
	// Output: <nil>
}

// Derivatives of any order, of any function.
func ExampleContext_Hessian() {
	dl := open()
	defer dl.Close()
	cubes := func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor { return xs[0].Pow(3).Sum() }
	x := dl.Tensor([]float64{1, 2})
	_, gradients := dl.ValueAndGrad(cubes, x)
	first, err := gradients[0].Float64s()
	fmt.Println(first, err)
	second, err := dl.Hessian(cubes, x).Float64s()
	fmt.Println(second, err)
	// Output:
	// [3 12] <nil>
	// [6 0 0 12] <nil>
}

// A step is captured once for each signature, and then runs as a graph with the same bits.
func ExampleContext_Compile() {
	dl := open()
	defer dl.Close()
	f := dl.Compile(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor { return xs[0].Square().Sum() })
	v, err := f.Run(dl.Tensor([]float32{3, 4})).Float32()
	fmt.Println(v, err)
	fmt.Print(f.Explain())
	// Output:
	// 25 <nil>
	// f32[2] on cpu, recording, training: a graph of 2 nodes
}

// An op written in Go, with its derivative.
func ExampleContext_Register() {
	dl := open()
	defer dl.Close()
	double, err := dl.Register(dlcore.CustomOp{
		Name: "double", Inputs: 1, Outputs: 1,
		Infer: func(dl *dlcore.Context, c *dlcore.OpCall) error { c.SetOutputLike(0, c.Input(0)); return nil },
		Forward: func(dl *dlcore.Context, c *dlcore.OpCall) error {
			c.SetOutput(0, c.Input(0).Multiply(2))
			return nil
		},
		Backward: func(dl *dlcore.Context, c *dlcore.OpCall) error {
			c.SetInputGradient(0, c.Gradient(0).Multiply(2))
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	y := dl.Call(double, []*dlcore.Tensor{dl.Tensor([]float64{1, 2})}, nil, 1)[0]
	values, err := y.Float64s()
	fmt.Println(values, err)
	// Output: [2 4] <nil>
}

// residual adds what its body computes.
type residual struct{ Body *dlcore.Module }

func (r *residual) Forward(dl *dlcore.Context, x *dlcore.Tensor) *dlcore.Tensor {
	return x.Add(r.Body.Call(x))
}

// A layer written in Go is saved, trained and put into others like any other.
func ExampleDefine() {
	dl := open()
	defer dl.Close()
	model := nn.NewSequential(dl, nn.Define(dl, &residual{Body: nn.NewLinear(dl, 4, 4)}), nn.NewLinear(dl, 4, 2))
	for path := range model.Variables() {
		fmt.Println(path)
	}
	// Output:
	// 0.body.weight
	// 0.body.bias
	// 1.weight
	// 1.bias
}
