// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dlcore"
	"dlcore/optim"
)

// everything makes one of each object.
type everything struct {
	tensor     *dlcore.Tensor
	variable   *dlcore.Variable
	module     *dlcore.Module
	snapshot   *dlcore.Module
	optimizer  *dlcore.Optimizer
	schedule   *dlcore.Schedule
	loader     *dlcore.Loader
	checkpoint *dlcore.Checkpoint
	archive    *dlcore.Archive
	graph      *dlcore.Graph
	executable *dlcore.Executable
}

func makeEverything(t testing.TB, dl *dlcore.Context) *everything {
	t.Helper()
	e := &everything{tensor: dl.Tensor([]float32{1, 2, 3, 4}, 1, 4), module: classifier(dl)}
	e.variable = dlcore.NewVariable(dl, "v", e.tensor)
	e.snapshot = e.module.Snapshot()
	e.optimizer = optim.NewAdam(dl, e.module.Parameters())
	e.schedule = optim.NewStepLR(e.optimizer, 2)
	e.loader = points(dl, 10).Batch(4).Shuffle().Open()
	e.checkpoint = dlcore.NewCheckpoint(dl).AddModule("model", e.module)
	var file bytes.Buffer
	if err := dl.WriteTensors(&file, map[string]*dlcore.Tensor{"x": e.tensor}); err != nil {
		t.Fatal(err)
	}
	e.archive = dl.ArchiveOf(file.Bytes())
	dl.BeginCapture("double")
	e.graph = dl.EndCapture(dl.CaptureInput("x", dlcore.F32, "[1, 4]").Multiply(2))
	e.executable = e.graph.Compile()
	requireOK(t, dl)
	return e
}

func (e *everything) closers() map[string]interface{ Close() } {
	return map[string]interface{ Close() }{
		"tensor": e.tensor, "variable": e.variable, "module": e.module, "snapshot": e.snapshot, "optimizer": e.optimizer,
		"schedule": e.schedule, "loader": e.loader, "checkpoint": e.checkpoint, "archive": e.archive, "graph": e.graph, "executable": e.executable,
	}
}

// uses are a call of each object.
func (e *everything) uses(dl *dlcore.Context) map[string]func() error {
	x := e.tensor
	return map[string]func() error{
		"tensor":     func() error { x.Add(1); return dl.Err() },
		"variable":   func() error { e.variable.Value(); return dl.Err() },
		"module":     func() error { e.module.Call(x); return dl.Err() },
		"snapshot":   func() error { e.snapshot.Call(x); return dl.Err() },
		"optimizer":  func() error { e.optimizer.ZeroGradients(); return dl.Err() },
		"schedule":   func() error { e.schedule.Step(); return dl.Err() },
		"loader":     func() error { e.loader.Next(); return dl.Err() },
		"checkpoint": func() error { return e.checkpoint.Save(new(bytes.Buffer)) },
		"archive":    func() error { e.archive.Tensor("x"); return dl.Err() },
		"graph":      func() error { _, err := e.graph.Text(); return err },
		"executable": func() error { e.executable.Run(x); return dl.Err() },
	}
}

func TestTheContextClosesWhatItMade(t *testing.T) {
	dl := open(t)
	for range 3 {
		makeEverything(t, dl)
	}
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	dl := open(t)
	for name := range (&everything{}).uses(dl) {
		t.Run(name, func(t *testing.T) {
			e := makeEverything(t, dl)
			use := e.uses(dl)[name]
			if err := use(); err != nil {
				t.Fatal(err)
			}
			e.closers()[name].Close()
			e.closers()[name].Close()
			if err := use(); err == nil {
				t.Fatal("it can still be used")
			}
			requireError(t, dl, dlcore.FailedPrecondition, "closed")
		})
	}
}

func TestCloseWhileAnotherGoroutineUsesIt(t *testing.T) {
	dl := open(t)
	for name := range (&everything{}).uses(dl) {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				scope := dl.Scope()
				e := makeEverything(t, dl)
				use, object := e.uses(dl)[name], e.closers()[name]
				var group sync.WaitGroup
				group.Add(1)
				go func() {
					defer group.Done()
					runtime.Gosched()
					object.Close()
				}()
				for {
					if err := use(); err != nil {
						break
					}
				}
				group.Wait()
				requireError(t, dl, dlcore.FailedPrecondition, "closed")
				scope.Close()
			}
		})
	}
}

func TestCloseTheContextWhileItRuns(t *testing.T) {
	engine := openEngine(t)
	for range 20 {
		dl, err := engine.Context("cpu")
		if err != nil {
			t.Fatal(err)
		}
		x := dl.RandomUniform([]int{64, 64})
		model := classifier(dl)
		var group sync.WaitGroup
		group.Add(1)
		go func() {
			defer group.Done()
			time.Sleep(200 * time.Microsecond)
			dl.Close()
			dl.Close()
		}()
		for dl.Err() == nil {
			y := x.Matmul(x)
			_ = y.Shape()
			model.Find("0.weight").Close()
			y.Close()
		}
		group.Wait()
		requireError(t, dl, dlcore.FailedPrecondition, "the context has been closed")
		requireNothingAlive(t, engine)
	}
}

func TestCloseTheEngine(t *testing.T) {
	engine := openEngine(t)
	dl, err := engine.Context("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer dl.Close()
	x := dl.Tensor([]float32{1, 2})
	engine.Close()
	engine.Close()
	if values, err := x.Float32s(); err != nil || values[1] != 2 {
		t.Errorf("what is held cannot be read: %v, %v", values, err)
	}
	x.Add(x)
	requireError(t, dl, dlcore.FailedPrecondition)
	if _, err := engine.Context("cpu"); err == nil {
		t.Error("a closed engine opens contexts")
	}
	if engine.Statistics().LiveTensors != 0 || engine.Devices() != nil || engine.Handle() != 0 {
		t.Error("a closed engine says something")
	}
}

func TestScopesGiveBack(t *testing.T) {
	dl := open(t)
	alive := func() int { return dl.Engine().Statistics().LiveTensors }
	before := alive()
	outer := dl.Scope()
	a := dl.Tensor(1.0)
	inner := dl.Scope()
	b := a.Add(1)
	c := a.Add(2).Keep()
	if inner.Close(); b.Size() != -1 || c.Size() != 1 {
		t.Error("the inner scope keeps or gives back too much")
	}
	outer.Reset()
	if alive() != before {
		t.Errorf("%d tensors are alive after a reset", alive()-before)
	}
	dl.Scope()
	dl.Tensor(1.0)
	outer.Close() // and the one inside it
	outer.Close()
	if alive() != before {
		t.Errorf("%d tensors are alive after closing", alive()-before)
	}
}

func TestTurnsOfALoopAreScopes(t *testing.T) {
	dl := open(t)
	loader := points(dl, 10).Batch(2).Open()
	before := dl.Engine().Statistics().LiveTensors
	check := func(how string) {
		t.Helper()
		if n := dl.Engine().Statistics().LiveTensors - before; n != 0 {
			t.Errorf("%d tensors are alive after %s", n, how)
		}
	}
	turns := 0
	for x, y := range loader.All() {
		if n := dl.Engine().Statistics().LiveTensors - before; n != 2 {
			t.Errorf("%d tensors are alive at the start of turn %d, expected its batch", n, turns)
		}
		x.Add(1)
		_ = y
		turns++
	}
	if check("exhaustion"); turns != 5 {
		t.Errorf("there were %d turns, expected 5", turns)
	}
	for x := range loader.All() {
		x.Add(1)
		break
	}
	check("break")
	func() {
		defer func() { _ = recover() }()
		for x := range loader.All() {
			x.Add(1)
			panic("out")
		}
	}()
	check("panic")
	rest := 0
	for range loader.All() {
		rest++
	}
	if rest != 3 {
		t.Errorf("the loop went on with %d batches, expected the 3 that were left", rest)
	}
	requireOK(t, dl)
}

func TestCollectedScopes(t *testing.T) {
	dl := open(t)
	before := dl.Engine().Statistics().LiveTensors
	scope := dl.Scope(dlcore.Collected())
	for range 1000 {
		dl.Tensor(1.0)
	}
	kept := dl.Tensor(2.0)
	for deadline := time.Now().Add(10 * time.Second); dl.Engine().Statistics().LiveTensors > before+100; {
		runtime.GC()
		if time.Sleep(time.Millisecond); time.Now().After(deadline) {
			t.Fatal("the collector gives nothing back")
		}
	}
	requireValues(t, kept, 2)
	kept.Close()
	scope.Close()
	for dl.Engine().Statistics().LiveTensors > before {
		runtime.GC()
		time.Sleep(time.Millisecond)
		dl.Scope().Close() // takes what has been given up
	}
}

func TestManyTensorsOutsideScopesAreLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	dl := open(t)
	for range 40_000 {
		dl.Tensor(1.0)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "lifetime_test.go:") {
		t.Errorf("the log is %q, expected one line that names this file", text)
	}
}

func TestLoadingAndUnloadingAModel(t *testing.T) {
	dl := open(t)
	alive := func() int {
		s := dl.Engine().Statistics()
		return s.LiveTensors + s.LiveVariables + s.LiveModules + s.LiveOptimizers
	}
	var file bytes.Buffer
	if err := classifier(dl).Save(&file); err != nil {
		t.Fatal(err)
	}
	before := alive()
	for range 20 {
		model := classifier(dl)
		if err := model.LoadBytes(file.Bytes()); err != nil {
			t.Fatal(err)
		}
		adam := optim.NewAdam(dl, model.Parameters())
		adam.SetLearningRate(1e-2)
		if adam.Groups() != 1 || len(adam.State()) != 2+2*4 || len(model.Children()) != 3 {
			t.Fatalf("there are %d groups, %d variables, %d children", adam.Groups(), len(adam.State()), len(model.Children()))
		}
		if model.Find("0.weight") != model.Parameters()[0] {
			t.Error("a variable is another one each time")
		}
		model.Close()
		adam.Close()
	}
	if n := alive() - before; n > 0 {
		t.Errorf("%d handles are left", n)
	}
}
