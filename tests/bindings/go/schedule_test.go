// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"bytes"
	"math"
	"testing"

	"dlcore"
	"dlcore/optim"
)

func requireRate(t testing.TB, optimizer *dlcore.Optimizer, expected float64) {
	t.Helper()
	rate, err := optimizer.LearningRate(0).Value().Float64()
	if err != nil || math.Abs(rate-expected) > 1e-6*expected {
		t.Fatalf("the rate is %v, %v, expected %v", rate, err, expected)
	}
}

func requireCount(t testing.TB, schedule *dlcore.Schedule, expected int64) {
	t.Helper()
	if count, err := schedule.Count(); err != nil || count != expected {
		t.Fatalf("the count is %v, %v, expected %v", count, err, expected)
	}
}

// cosine is the rate of a CosineAnnealingLR.
func cosine(base, lowest float64, count, steps int) float64 {
	return lowest + (base-lowest)*(1+math.Cos(math.Pi*float64(count)/float64(steps)))/2
}

func TestSchedulesSetTheRate(t *testing.T) {
	const base, lowest, steps = 0.1, 0.01, 10
	dl := open(t)
	sgd := optim.NewSGD(dl, classifier(dl).Parameters(), optim.LR(base))
	schedule := optim.NewCosineAnnealingLR(sgd, steps, optim.EtaMin(lowest))
	if kind := schedule.Kind(); kind != "CosineAnnealingLR" {
		t.Errorf("the kind is %q", kind)
	}
	for count := range steps {
		requireCount(t, schedule, int64(count))
		requireRate(t, sgd, cosine(base, lowest, count, steps))
		schedule.Step()
	}
	requireRate(t, sgd, lowest)

	schedule.CountVariable().Assign(dl.Tensor(int64(2)))
	schedule.BaseRate(0).Assign(dl.Tensor(1.0))
	schedule.Step()
	requireCount(t, schedule, 3)
	requireRate(t, sgd, cosine(1, lowest, 3, steps))
	requireOK(t, dl)
}

func TestEverySchedule(t *testing.T) {
	const base = 0.1
	for _, c := range []struct {
		kind    string
		make    func(o *dlcore.Optimizer) *dlcore.Schedule
		factors []float64 // of the base rate, at the counts 0, 1...
	}{
		{"ConstantLR", func(o *dlcore.Optimizer) *dlcore.Schedule {
			return optim.NewConstantLR(o, optim.Factor(0.5), optim.TotalIters(2))
		}, []float64{0.5, 0.5, 1}},
		{"LinearLR", func(o *dlcore.Optimizer) *dlcore.Schedule {
			return optim.NewLinearLR(o, optim.StartFactor(0.25), optim.EndFactor(0.75), optim.TotalIters(2))
		}, []float64{0.25, 0.5, 0.75, 0.75}},
		{"StepLR", func(o *dlcore.Optimizer) *dlcore.Schedule { return optim.NewStepLR(o, 2) },
			[]float64{1, 1, 0.1, 0.1, 0.01}},
		{"MultiStepLR", func(o *dlcore.Optimizer) *dlcore.Schedule {
			return optim.NewMultiStepLR(o, []int{1, 3}, optim.Gamma(0.5))
		}, []float64{1, 0.5, 0.5, 0.25}},
		{"ExponentialLR", func(o *dlcore.Optimizer) *dlcore.Schedule { return optim.NewExponentialLR(o, 0.5) },
			[]float64{1, 0.5, 0.25}},
		{"PolynomialLR", func(o *dlcore.Optimizer) *dlcore.Schedule {
			return optim.NewPolynomialLR(o, optim.TotalIters(4), optim.Power(2))
		}, []float64{1, 0.5625, 0.25, 0.0625}},
		{"OneCycleLR", func(o *dlcore.Optimizer) *dlcore.Schedule {
			return optim.NewOneCycleLR(o, 11, optim.MaxLR(2*base), optim.PctStart(0.2), optim.DivFactor(4),
				optim.FinalDivFactor(5), optim.AnnealStrategyLinear)
		}, []float64{0.5, 0.5 + 1.5/1.2, 2 - 1.9*0.8/8.8}},
		{"WarmupCosine", func(o *dlcore.Optimizer) *dlcore.Schedule {
			return optim.NewWarmupCosine(o, 2, 4, optim.StartFactor(0.5))
		}, []float64{0.5, 0.75, 1, 0.5}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			dl := open(t)
			sgd := optim.NewSGD(dl, classifier(dl).Parameters(), optim.LR(base))
			schedule := c.make(sgd)
			if schedule.Kind() != c.kind {
				t.Errorf("the kind is %q", schedule.Kind())
			}
			for _, factor := range c.factors {
				requireRate(t, sgd, base*factor)
				schedule.Step()
			}
		})
	}
}

func TestSchedulesThatCannotBeMade(t *testing.T) {
	dl := open(t)
	sgd := optim.NewSGD(dl, classifier(dl).Parameters())
	for name, c := range map[string]struct {
		run  func() *dlcore.Schedule
		code dlcore.Code
		word string
	}{
		"number": {func() *dlcore.Schedule { return optim.NewCosineAnnealingLR(sgd, 0) },
			dlcore.InvalidArgument, "t_max is 0"},
		"list": {func() *dlcore.Schedule { return optim.NewMultiStepLR(sgd, []int{3, 1}) },
			dlcore.InvalidArgument, "milestones"},
		"choice": {func() *dlcore.Schedule { return optim.NewOneCycleLR(sgd, 5, optim.AnnealStrategy("fast")) },
			dlcore.InvalidArgument, "fast"},
		"not finite": {func() *dlcore.Schedule { return optim.NewExponentialLR(sgd, math.NaN()) },
			dlcore.InvalidArgument, "gamma"},
		"kind": {func() *dlcore.Schedule { return dlcore.NewSchedule(sgd, 999, nil) }, dlcore.NotFound, "999"},
		"group": {func() *dlcore.Schedule {
			schedule := optim.NewStepLR(sgd, 2)
			schedule.BaseRate(1)
			return schedule
		}, dlcore.OutOfRange, "group"},
	} {
		t.Run(name, func(t *testing.T) {
			made := c.run()
			requireError(t, dl, c.code, c.word)
			made.Close()
			if made.Kind() != "" {
				t.Error("there is a schedule")
			}
			if _, err := made.Count(); err == nil {
				t.Error("it has a count")
			}
			requireError(t, dl, dlcore.FailedPrecondition, "closed")
		})
	}
	sgd.Close()
	optim.NewStepLR(sgd, 2)
	requireError(t, dl, dlcore.FailedPrecondition, "closed")
}

func TestASchedulesOptimizerLivesOn(t *testing.T) {
	dl := open(t)
	sgd := optim.NewSGD(dl, classifier(dl).Parameters())
	schedule := optim.NewStepLR(sgd, 2)
	sgd.Close()
	schedule.Step()
	requireCount(t, schedule, 1)
	for _, expected := range []int{1, 0} {
		if n := dl.Engine().Statistics().LiveOptimizers; n != expected {
			t.Errorf("%d optimizers are alive, expected %d", n, expected)
		}
		schedule.Close()
	}
}

func TestSchedulesResume(t *testing.T) {
	const base, steps = 0.1, 10
	start := func() (*dlcore.Optimizer, *dlcore.Schedule, *dlcore.Checkpoint) {
		dl := open(t)
		sgd := optim.NewSGD(dl, classifier(dl).Parameters(), optim.LR(base))
		schedule := optim.NewCosineAnnealingLR(sgd, steps)
		return sgd, schedule, dlcore.NewCheckpoint(dl).AddOptimizer("sgd", sgd).AddSchedule("rates", schedule)
	}
	_, before, state := start()
	for range 4 {
		before.Step()
	}
	var file bytes.Buffer
	if err := state.Save(&file); err != nil {
		t.Fatal(err)
	}
	sgd, after, state := start()
	if err := state.Load(&file); err != nil {
		t.Fatal(err)
	}
	requireCount(t, after, 4)
	requireRate(t, sgd, cosine(base, 0, 4, steps))
	after.Step()
	requireCount(t, after, 5)
	requireRate(t, sgd, cosine(base, 0, 5, steps))
}

func TestSchedulesStepInCompiledFunctions(t *testing.T) {
	dl := open(t)
	sgd := optim.NewSGD(dl, classifier(dl).Parameters(), optim.LR(0.1))
	schedule := optim.NewExponentialLR(sgd, 0.5)
	step := dl.Compile(func(dl *dlcore.Context, xs ...*dlcore.Tensor) *dlcore.Tensor {
		schedule.Step()
		return xs[0].Add(1)
	})
	for range 3 {
		requireValues(t, step.Run(dl.Tensor(1.0)), 2)
	}
	requireCount(t, schedule, 3)
	requireRate(t, sgd, 0.1/8)
}
