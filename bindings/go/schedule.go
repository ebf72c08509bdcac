// SPDX-License-Identifier: Apache-2.0

package dlcore

import "dlcore/internal/raw"

// Schedule sets the learning rates of an optimizer: a formula of the number of its steps and of the
// rate that each group had when it was made. It keeps the optimizer alive, and overwrites what a
// program assigns to the learning rate. Package dlcore/optim makes them.
type Schedule struct {
	object[raw.Schedule]
	family family
}

// NewSchedule makes the schedule of a number of the catalogue, on the context of the optimizer, and
// sets the rates of count 0; package dlcore/optim has a function for each.
func NewSchedule(o *Optimizer, schedule int32, words []int64) *Schedule {
	f := o.dl.begin("schedule_create")
	defer f.end()
	var handle raw.Schedule
	if optimizer := use(&f, "optimizer", &o.object); f.ok() {
		handle = raw.ScheduleCreate(f.ctx, schedule, optimizer, raw.Pointer(words), int64(len(words)))
		if handle == 0 {
			f.take(Internal)
		}
	}
	s := &Schedule{}
	s.hold(o.dl, handle, func(handle raw.Schedule) {
		s.family.close()
		raw.ScheduleRelease(handle)
	}, s)
	return s
}

// Step adds 1 to the count and sets the rates of all groups to those of the new count, wholly or not
// at all.
func (s *Schedule) Step() {
	f := s.dl.begin("schedule_step")
	defer f.end()
	if handle := use(&f, "schedule", &s.object); f.ok() {
		f.status(raw.ScheduleStep(f.ctx, handle))
	}
}

// Kind is its name in the catalogue, "CosineAnnealingLR"; "" once it is closed.
func (s *Schedule) Kind() string {
	if !s.use() {
		return ""
	}
	defer s.done()
	return raw.ScheduleKind(s.handle).String()
}

// Count is how many steps it has taken.
func (s *Schedule) Count() (int64, error) {
	scope := s.dl.Scope()
	defer scope.Close()
	return s.CountVariable().Value().Int64()
}

// CountVariable is what holds the count, an i64 variable of rank 0: the next step goes on from what is
// assigned to it.
func (s *Schedule) CountVariable() *Variable {
	return s.variable("schedule_count", raw.ScheduleCount)
}

// BaseRate is that of a group, an f64 variable of rank 0: assign it to have other rates from the next
// step on.
func (s *Schedule) BaseRate(group int) *Variable {
	return s.variable("schedule_base_rate", func(ctx raw.Context, handle raw.Schedule) raw.Variable {
		return raw.ScheduleBaseRate(ctx, handle, int64(group))
	})
}

func (s *Schedule) variable(what string, ask func(raw.Context, raw.Schedule) raw.Variable) *Variable {
	f := s.dl.begin(what)
	defer f.end()
	var variable raw.Variable
	if handle := use(&f, "schedule", &s.object); f.ok() {
		if variable = ask(f.ctx, handle); variable == 0 {
			f.take(Internal)
		}
	}
	return s.family.variable(s.dl, variable)
}
