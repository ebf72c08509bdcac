// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"dlcore"
	"dlcore/optim"
)

// Each goroutine trains with a context of its own, moves between threads, and gets the bits of the first.
func TestManyGoroutines(t *testing.T) {
	engine := openEngine(t)
	losses := make([]string, 32)
	var group sync.WaitGroup
	for i := range losses {
		group.Add(1)
		go func() {
			defer group.Done()
			losses[i] = trainOnce(engine)
		}()
	}
	group.Wait()
	for i, text := range losses {
		if text != losses[0] {
			t.Errorf("goroutine %d: %s, expected %s", i, text, losses[0])
		}
	}
	requireNothingAlive(t, engine)
}

func trainOnce(engine *dlcore.Engine) string {
	dl, err := engine.Context("cpu", dlcore.Seed(3))
	if err != nil {
		return err.Error()
	}
	defer dl.Close()
	model := classifier(dl)
	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-2))
	var text string
	for x, y := range points(dl, 40).Batch(8).Shuffle().All() {
		loss := dl.CrossEntropy(model.Call(x), y)
		loss.Backward()
		adam.Step()
		v, err := loss.Float32()
		if err != nil {
			return err.Error()
		}
		text += fmt.Sprintf("%08x ", math.Float32bits(v))
		runtime.Gosched()
	}
	return text
}

// Closing a tensor of another goroutine's context never makes that one refuse a call.
func TestTensorsGoBetweenContexts(t *testing.T) {
	const count = 10_000
	engine := openEngine(t)
	tensors := make(chan *dlcore.Tensor, 16)
	done := make(chan error)
	go func() {
		dl, err := engine.Context("cpu")
		if err != nil {
			done <- err
			return
		}
		total := dl.Tensor(0.0)
		for x := range tensors {
			scope := dl.Scope()
			total = total.Add(x.On(dl).Sum()).Keep()
			scope.Close()
			x.Close()
		}
		sum, err := total.Float64()
		if err == nil && sum != 3*count {
			err = fmt.Errorf("the sum is %g", sum)
		}
		dl.Close()
		done <- err
	}()
	dl, err := engine.Context("cpu")
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		tensors <- dl.Full([]int{3}, 1, dlcore.F64)
	}
	close(tensors)
	if err := <-done; err != nil {
		t.Error(err)
	}
	dl.Close()
	requireNothingAlive(t, engine)
}

// It is a mistake to share a context, but no crash and no race.
func TestGoroutinesThatShareAContext(t *testing.T) {
	dl := open(t)
	x := dl.Tensor([]float32{1, 2, 3})
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 500 {
				scope := dl.Scope()
				y := x.Add(1)
				y.Sum()
				y.Close()
				scope.Close()
				_ = x.Shape()
				dl.TakeErr()
			}
		}()
	}
	group.Wait()
	dl.TakeErr()
	requireValues(t, x.Add(1), 2, 3, 4)
}
