// SPDX-License-Identifier: Apache-2.0

// Answers requests from many goroutines while one more trains the model: one engine, a context for each.
// Workers answer from a snapshot, which no step of the optimizer changes; after every step the trainer
// publishes the next one. An interrupt ends it after the requests that are being answered.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"dlcore"
	"dlcore/nn"
	"dlcore/optim"
)

func main() {
	log.SetFlags(0)
	requests := flag.Int64("requests", 10_000, "requests to answer")
	workers := flag.Int("workers", 32, "goroutines that answer")
	check := flag.Bool("check", false, "every answer must be that of a whole step")
	flag.Parse()
	if *requests < 0 || *workers < 1 {
		log.Fatalf("serve: -requests is %d, expected 0 or more; -workers is %d, expected 1 or more", *requests, *workers)
	}
	done, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	engine, err := dlcore.OpenEngine(dlcore.MemoryLimit(512 << 20))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	s := &service{engine: engine, left: *requests, check: *check}
	if err := s.run(done, *workers); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d requests, %d wrong\n", s.served.Load(), s.wrong.Load())
	if s.wrong.Load() > 0 {
		os.Exit(1)
	}
}

type service struct {
	engine *dlcore.Engine
	left   int64 // requests that nobody has taken yet
	check  bool
	served atomic.Int64
	wrong  atomic.Int64

	lock    sync.RWMutex // held for reading as long as an answer is computed
	current *dlcore.Module
	whole   map[answer]bool // what the models of all steps answer
}

// run trains until all requests are answered.
func (s *service) run(done context.Context, workers int) error {
	dl, err := s.engine.Context("cpu", dlcore.Seed(42))
	if err != nil {
		return err
	}
	defer dl.Close()
	model := nn.NewSequential(dl, nn.NewLinear(dl, pixels, 256), nn.NewReLU(dl), nn.NewLinear(dl, 256, classes))
	if err := s.publish(dl, model); err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make(chan error, workers)
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			failures <- s.work(done)
		}()
	}
	idle := make(chan bool)
	go func() { group.Wait(); close(idle) }()
	if err := s.train(dl, model, idle); err != nil {
		return err
	}
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *service) train(dl *dlcore.Context, model *dlcore.Module, idle chan bool) error {
	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-3))
	for {
		select {
		case <-idle:
			return dl.Err()
		default:
		}
		step := dl.Scope()
		x, y := dl.RandomUniform([]int{64, pixels}), dl.RandomIntegers([]int{64}, 0, classes)
		dl.CrossEntropy(model.Call(x), y).Backward()
		adam.Step()
		step.Close()
		if err := s.publish(dl, model); err != nil {
			<-idle
			return err
		}
	}
}

// publish makes what the model is now the one that workers answer from.
func (s *service) publish(dl *dlcore.Context, model *dlcore.Module) error {
	snapshot := model.Snapshot()
	var answers [probes]answer
	for i := range answers {
		var err error
		if answers[i], err = ask(dl, snapshot, i); err != nil {
			return err
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.current != nil {
		s.current.Close()
	} else {
		s.whole = map[answer]bool{}
	}
	s.current = snapshot
	for _, a := range answers {
		s.whole[a] = true
	}
	return nil
}

// work answers requests with a context of its own.
func (s *service) work(done context.Context) error {
	dl, err := s.engine.Context("cpu", dlcore.Inferring())
	if err != nil {
		return err
	}
	defer dl.Close()
	for done.Err() == nil {
		number := atomic.AddInt64(&s.left, -1)
		if number < 0 {
			break
		}
		s.lock.RLock()
		got, err := ask(dl, s.current, int(number%probes))
		known := !s.check || s.whole[got]
		s.lock.RUnlock()
		if err != nil {
			return err
		}
		if s.served.Add(1); !known {
			s.wrong.Add(1)
		}
	}
	return nil
}
