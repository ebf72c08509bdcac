// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"dlcore"
	"dlcore/nn"
	"dlcore/optim"
)

func TestDerivatives(t *testing.T) {
	dl := open(t)
	f := func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		return xs[0].Sin().Multiply(xs[0]).Sum()
	}
	x := dl.Tensor([]float64{0.5, 1})
	first := func(v float64) float64 { return math.Sin(v) + v*math.Cos(v) }
	second := func(v float64) float64 { return 2*math.Cos(v) - v*math.Sin(v) }
	value, gradients := dl.ValueAndGrad(f, x)
	requireValues(t, value, 0.5*math.Sin(0.5)+math.Sin(1))
	requireValues(t, gradients[0], first(0.5), first(1))
	requireValues(t, dl.Hessian(f, x), second(0.5), 0, 0, second(1))
	_, derivative := dl.JVP(f, []*dlcore.Tensor{x}, []*dlcore.Tensor{dl.Tensor([]float64{1, 2})})
	requireValues(t, derivative, first(0.5)+2*first(1))
	_, gradients = dl.VJP(f, dl.Tensor(3.0), x)
	requireValues(t, gradients[0], 3*first(0.5), 3*first(1))
	slopes := dl.Vmap(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		_, g := dl.ValueAndGrad(f, xs...)
		return g[0]
	}, x)
	requireValues(t, slopes, first(0.5), first(1))
	_, gradients = dl.ValueAndGrad(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor { return xs[1].Sum() }, x, x)
	requireValues(t, gradients[0], 0, 0)
	requireOK(t, dl)

	dl.NoGrad(func() {
		if dl.Recording() {
			t.Error("it records")
		}
	})
	dl.Inference(func() {
		if dl.Recording() || dl.Training() {
			t.Error("it records or trains")
		}
	})
	if !dl.Recording() || !dl.Training() {
		t.Error("the modes were not restored")
	}
	func() {
		defer func() { _ = recover() }()
		dl.Inference(func() { panic("out") })
	}()
	if !dl.Recording() || !dl.Training() {
		t.Error("the modes were not restored after a panic")
	}
}

func TestGradcheckFindsWrongDerivatives(t *testing.T) {
	dl := open(t)
	op := cube("wrong")
	op.Backward = func(dl *dlcore.Context, c *dlcore.OpCall) error {
		c.SetInputGradient(0, c.Gradient(0))
		return nil
	}
	number, err := dl.Register(op)
	if err != nil {
		t.Fatal(err)
	}
	f := func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		return dl.Call(number, xs, []int64{1}, 1)[0].Sum()
	}
	requireKind(t, dl.Gradcheck(f, 1, 0, dl.Tensor([]float64{2})), dlcore.FailedPrecondition, "gradcheck")
	dl.TakeErr()
	identity := func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor { return xs[0] }
	if err := dl.Gradcheck(identity, 1, 0, dl.Tensor(2.0)); err != nil {
		t.Error(err)
	}
}

func TestGraphs(t *testing.T) {
	dl := open(t)
	e := makeEverything(t, dl)
	text, err := e.graph.Text()
	if err != nil || !strings.Contains(text, "multiply") {
		t.Fatalf("the text is %q, %v", text, err)
	}
	parsed := dl.ParseGraph(text)
	if again, err := parsed.Text(); err != nil || again != text {
		t.Errorf("it was parsed as %q, %v", again, err)
	}
	if err := parsed.Verify(); err != nil || parsed.Nodes() < 1 {
		t.Errorf("it has %d nodes, %v", parsed.Nodes(), err)
	}
	requireValues(t, parsed.Compile().Run(e.tensor)[0], 2, 4, 6, 8)
	dl.BeginCapture("two")
	x := dl.CaptureInput("x", dlcore.F64, "[B]")
	if d, err := x.Describe(); err != nil || !d.Symbolic || x.Dim(0) != -1 {
		t.Errorf("the input is %+v, %v", d, err)
	}
	two := dl.EndCapture(x.Add(dl.CaptureConstant(dl.Tensor(1.0))), x.Sum())
	made := two.Apply("cse").Apply("dce").Compile().Run(dl.Tensor([]float64{1, 2, 3}))
	requireValues(t, made[0], 2, 3, 4)
	requireValues(t, made[1], 6)
	dl.BeginCapture("left")
	dl.CaptureInput("x", dlcore.F64, "[]").Add(1)
	dl.AbortCapture()
	requireValues(t, dl.Tensor(1.0).Add(1), 2)
	requireOK(t, dl)
}

// training trains a model by a step that may be compiled, and tells all losses.
func training(t *testing.T, compiled bool) (losses []float32, explained string) {
	dl := open(t)
	model := nn.NewSequential(dl, nn.NewLinear(dl, 4, 8), nn.NewDropout(dl, 0.3), nn.NewLinear(dl, 8, 3))
	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-2))
	f := func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		loss := dl.CrossEntropy(model.Call(xs[0]), xs[1])
		loss.Backward()
		adam.Step()
		return loss
	}
	step := dl.Compile(f)
	loader := points(dl, 20).Batch(8).Shuffle()
	for range 3 {
		for x, y := range loader.All() {
			loss := f
			if compiled {
				loss = func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor { return step.Run(xs...) }
			}
			v, err := loss(dl, x, y).Float32()
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, v)
		}
	}
	return losses, step.Explain()
}

func TestCompiledFunctionsHaveTheSameBits(t *testing.T) {
	eager, _ := training(t, false)
	compiled, explained := training(t, true)
	for i := range eager {
		if eager[i] != compiled[i] {
			t.Fatalf("loss %d is %g, expected %g", i, compiled[i], eager[i])
		}
	}
	if strings.Count(explained, "a graph of") != 2 || strings.Contains(explained, "eagerly") {
		t.Errorf("two signatures were expected:\n%s", explained)
	}
}

func TestCompiledFunctionsFallBack(t *testing.T) {
	dl := open(t)
	f := dl.Compile(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		if v, _ := xs[0].Float64(); v > 1 { // needs the value
			return xs[0].Multiply(2)
		}
		return xs[0]
	})
	requireValues(t, f.Run(dl.Tensor(3.0)), 6)
	requireValues(t, f.Run(dl.Tensor(1.0)), 1)
	if text := f.Explain(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "runs eagerly: ") {
		t.Errorf("it explains %q", text)
	}
	failing := dl.Compile(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor { return xs[0].Matmul(xs[0]) })
	failing.Run(dl.Full([]int{2, 3}, 1))
	requireError(t, dl, dlcore.InvalidArgument, "matmul")
	func() {
		defer func() { _ = recover() }()
		dl.Compile(func(*dlcore.Context, ...*dlcore.Tensor) *dlcore.Tensor { panic("out") }).Run(dl.Tensor(1.0))
	}()
	requireValues(t, dl.Tensor(1.0).Add(1), 2) // the capture has ended
	f.Close()
	f.Run(nil)
	requireError(t, dl, dlcore.InvalidArgument, "nil")
}

func TestCheckpointsResume(t *testing.T) {
	run := func(before, after int, load []byte) (saved []byte, losses []float32) {
		dl := open(t)
		model := nn.NewSequential(dl, nn.NewLinear(dl, 4, 8), nn.NewDropout(dl, 0.3), nn.NewLinear(dl, 8, 3))
		loader := points(dl, 20).Batch(8).Shuffle().Prefetch(2)
		adam := optim.NewAdamW(dl, model.Parameters())
		state := dlcore.NewCheckpoint(dl).AddModule("model", model).AddOptimizer("adam", adam).AddLoader("train", loader)
		step := func(n int) {
			for n > 0 {
				for x, y := range loader.All() {
					loss := dl.CrossEntropy(model.Call(x), y)
					loss.Backward()
					adam.Step()
					v, err := loss.Float32()
					if err != nil {
						t.Fatal(err)
					}
					losses = append(losses, v)
					if n--; n == 0 {
						break
					}
				}
			}
		}
		if load != nil {
			if err := state.Load(bytes.NewReader(load)); err != nil || state.Warning() != "" {
				t.Fatal(err, state.Warning())
			}
		} else {
			step(before)
		}
		losses = nil
		var file bytes.Buffer
		if err := state.Save(&file); err != nil {
			t.Fatal(err)
		}
		step(after)
		return file.Bytes(), losses
	}
	saved, straight := run(7, 6, nil)
	_, resumed := run(0, 6, saved)
	for i := range straight {
		if straight[i] != resumed[i] {
			t.Fatalf("loss %d is %g, expected %g", i, resumed[i], straight[i])
		}
	}
}

func TestLogsGoToSlog(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	engine := openEngine(t)
	done, cancel := context.WithCancel(context.Background())
	defer cancel()
	engine.LogTo(done, slog.New(slog.NewTextHandler(&locked{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err := engine.Log(slog.LevelDebug, "go", "hello \U0001F642"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		text := log.String()
		mu.Unlock()
		if strings.Contains(text, "level=DEBUG") && strings.Contains(text, "hello \U0001F642") && strings.Contains(text, "source=go") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log is %q", text)
		}
	}
}

type locked struct {
	mu *sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(data)
}

func TestDLPack(t *testing.T) {
	dl := open(t)
	x := dl.Tensor([]float32{1, 2, 3, 4}, 2, 2).PermuteDims([]int{1, 0})
	for _, flags := range [][]dlcore.DLPackFlag{nil, {dlcore.DLPackCopy}, {dlcore.DLPackContiguous}} {
		address, err := x.ToDLPack(flags...)
		if err != nil {
			t.Fatal(err)
		}
		requireValues(t, dl.FromDLPack(address), 1, 3, 2, 4)
	}
	address, err := x.ToDLPack()
	if err != nil {
		t.Fatal(err)
	}
	borrowed := dl.FromDLPack(address, dlcore.DLPackBorrow)
	x.Close()
	requireValues(t, borrowed, 1, 3, 2, 4)
	dl.FromDLPack(0)
	requireError(t, dl, dlcore.InvalidArgument)
}
