// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"testing"
	"time"

	"dlcore"
)

// work is long enough to be met in the middle of.
func work(dl *dlcore.Context) {
	scope := dl.Scope()
	defer scope.Close()
	x := dl.RandomUniform([]int{512, 512})
	for dl.Err() == nil {
		turn := dl.Scope()
		x.Matmul(x).Sum()
		turn.Close()
	}
}

func TestCancelFromAnotherGoroutine(t *testing.T) {
	dl := open(t)
	go func() {
		time.Sleep(5 * time.Millisecond)
		dl.Cancel()
	}()
	work(dl)
	requireError(t, dl, dlcore.Cancelled)
	requireValues(t, dl.Tensor(1.0).Add(1), 2)
}

func TestWithAGoContext(t *testing.T) {
	dl := open(t)
	done, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the client left")
	request := dl.With(done)
	go func() {
		time.Sleep(5 * time.Millisecond)
		cancel(cause)
	}()
	work(request)
	err := request.Err()
	if !errors.Is(err, dlcore.Cancelled) || !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	requireOK(t, dl) // only the request failed
	requireValues(t, dl.Tensor(1.0).Add(1), 2)
	if _, err := dl.With(done).Tensor(1.0).Float64(); !errors.Is(err, cause) {
		t.Errorf("a request that was cancelled before it began: %v", err)
	}
}

func TestDeadlines(t *testing.T) {
	dl := open(t)
	done, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	request := dl.With(done)
	work(request)
	if err := request.Err(); !errors.Is(err, dlcore.DeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	requireOK(t, dl)
}

// A cancellation must not reach the calls of whoever uses the context next.
func TestCancelledRequestsLeaveTheOthersAlone(t *testing.T) {
	dl := open(t)
	x := dl.RandomUniform([]int{64, 64})
	for range 300 {
		done, cancel := context.WithCancel(context.Background())
		request := dl.With(done)
		finished := make(chan bool)
		go func() { cancel(); close(finished) }()
		y := x.On(request)
		for range 5 {
			y = y.Matmul(x.On(request))
		}
		if err := request.Err(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		scope := dl.Scope()
		x.Matmul(x).Sum()
		requireOK(t, dl)
		scope.Close()
		<-finished
	}
}

func TestTensorsOfARequestRunOnIt(t *testing.T) {
	dl := open(t)
	done, cancel := context.WithCancel(context.Background())
	request := dl.With(done)
	model, x := classifier(dl), dl.Full([]int{1, 4}, 1)
	requireValues(t, model.Call(request.Full([]int{1, 4}, 1)).Subtract(model.Call(x)), 0, 0, 0)
	y := x.On(request)
	cancel()
	if y.Add(x); !errors.Is(request.Err(), context.Canceled) {
		t.Errorf("the error is %v", request.Err())
	}
	requireValues(t, x.Add(1).Sum(), 8)
}
