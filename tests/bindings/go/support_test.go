// SPDX-License-Identifier: Apache-2.0

// Tests of what is the Go binding's own: lifetimes, errors, conversions, callbacks, goroutines.
package bindings

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dlcore"
	"dlcore/nn"
)

func openEngine(t testing.TB) *dlcore.Engine {
	t.Helper()
	engine, err := dlcore.OpenEngine(dlcore.Threads(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

// open is a context whose end leaves nothing alive.
func open(t testing.TB) *dlcore.Context {
	t.Helper()
	engine := openEngine(t)
	dl, err := engine.Context("cpu", dlcore.Seed(8))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		dl.Close()
		requireNothingAlive(t, engine)
	})
	return dl
}

func requireNothingAlive(t testing.TB, engine *dlcore.Engine) {
	t.Helper()
	s := engine.Statistics()
	if n := s.LiveTensors + s.LiveVariables + s.LiveModules + s.LiveOptimizers + s.LiveLoaders + s.LiveGraphs + s.LiveContexts; n != 0 {
		t.Errorf("%d handles are alive at the end: %+v", n, s)
	}
}

func requireOK(t testing.TB, dl *dlcore.Context) {
	t.Helper()
	if err := dl.Err(); err != nil {
		t.Fatal(err)
	}
}

// requireError takes the error of the context, which is of that kind and has those words.
func requireError(t testing.TB, dl *dlcore.Context, code dlcore.Code, words ...string) *dlcore.Error {
	t.Helper()
	return requireKind(t, dl.TakeErr(), code, words...)
}

func requireKind(t testing.TB, err error, code dlcore.Code, words ...string) *dlcore.Error {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v, expected %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the message %q lacks %q", err, word)
		}
	}
	var e *dlcore.Error
	errors.As(err, &e)
	return e
}

func requireValues(t testing.TB, x *dlcore.Tensor, expected ...float64) {
	t.Helper()
	values, err := x.Astype(dlcore.F64).Float64s()
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != len(expected) {
		t.Fatalf("there are %d values, expected %d", len(values), len(expected))
	}
	for i, v := range values {
		if math.Abs(v-expected[i]) > 1e-6*max(1, math.Abs(expected[i])) {
			t.Fatalf("the values are %v, expected %v", values, expected)
		}
	}
}

func classifier(dl *dlcore.Context) *dlcore.Module {
	return nn.NewSequential(dl, nn.NewLinear(dl, 4, 8), nn.NewReLU(dl), nn.NewLinear(dl, 8, 3))
}

// points are samples and labels of three classes.
func points(dl *dlcore.Context, n int) *dlcore.Dataset {
	x := dl.RandomUniform([]int{n, 4})
	return dl.FromTensors(x, x.Slice([]int{0, 0}, []int{n, 3}).Argmax(dlcore.Axis(1)))
}
