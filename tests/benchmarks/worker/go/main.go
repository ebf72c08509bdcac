// SPDX-License-Identifier: Apache-2.0

// What calls cost from Go; the protocol is that of ../main.c.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"dlcore"
)

// benchmark is a turn, whose result is closed, and a loop of them that is timed.
type benchmark struct {
	turn func(w *worker) *dlcore.Tensor
	time func(w *worker, turns int)
}

// The loops are written out, so that a call through a pointer does not count.
var benchmarks = map[string]benchmark{
	"add16_go": {
		turn: func(w *worker) *dlcore.Tensor { return w.a.Add(w.b) },
		time: func(w *worker, turns int) {
			for range turns {
				w.a.Add(w.b).Close()
			}
		},
	},
	"mul_scalar16_go": {
		turn: func(w *worker) *dlcore.Tensor { return w.a.Multiply(2.0) },
		time: func(w *worker, turns int) {
			for range turns {
				w.a.Multiply(2.0).Close()
			}
		},
	},
	"add16_go_scope": { // a scope for every 16 calls instead
		turn: func(w *worker) *dlcore.Tensor { return w.a.Add(w.b) },
		time: func(w *worker, turns int) {
			for done := 0; done < turns; done += 16 {
				scope := w.dl.Scope()
				for range min(16, turns-done) {
					w.a.Add(w.b)
				}
				scope.Close()
			}
		},
	},
}

type worker struct {
	engine *dlcore.Engine
	dl     *dlcore.Context
	a, b   *dlcore.Tensor
}

// fill is the numbers that all sides compute with; see ../worker.h.
func fill(dl *dlcore.Context, seed uint32, count int) *dlcore.Tensor {
	data := make([]float32, count)
	for i := range data {
		h := (uint32(i) + 1000003*seed) * 2654435761
		data[i] = float32(h>>8)/(1<<24) - 0.5
	}
	return dl.Tensor(data)
}

func (w *worker) prepare() error {
	w.drop()
	var err error
	if w.dl, err = w.engine.Context("cpu", dlcore.Seed(8)); err != nil {
		return err
	}
	w.a, w.b = fill(w.dl, 1, 16), fill(w.dl, 2, 16)
	return w.dl.Err()
}

func (w *worker) drop() {
	if w.dl != nil {
		w.dl.Close()
		w.dl = nil
	}
}

// checksum is that of ../main.c.
func checksum(t *dlcore.Tensor) (float64, error) {
	values, err := t.Float32s()
	var sum float64
	for i, v := range values {
		sum += float64(v) * math.Abs(float64(v)) * float64(1+i%7)
	}
	return math.Copysign(math.Sqrt(math.Abs(sum)), sum), err
}

func (w *worker) answer(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 1 && words[0] == "drop" {
		w.drop()
		return "dropped", nil
	}
	if len(words) < 2 {
		return "", fmt.Errorf("not understood")
	}
	b, ok := benchmarks[words[1]]
	if !ok {
		return "", fmt.Errorf("no such benchmark")
	}
	if words[0] == "check" || w.dl == nil {
		if err := w.prepare(); err != nil {
			return "", err
		}
	}
	if words[0] == "check" {
		value, err := checksum(b.turn(w))
		return fmt.Sprintf("value %.9g", value), err
	}
	if words[0] != "run" || len(words) != 3 {
		return "", fmt.Errorf("not understood")
	}
	turns, err := strconv.Atoi(words[2])
	if err != nil {
		return "", err
	}
	start := time.Now()
	b.time(w, turns)
	return fmt.Sprintf("seconds %.9f", time.Since(start).Seconds()), w.dl.TakeErr()
}

func main() {
	threads := 0
	if len(os.Args) > 1 {
		threads, _ = strconv.Atoi(os.Args[1])
	}
	engine, err := dlcore.OpenEngine(dlcore.Threads(threads))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer engine.Close()
	isa := map[dlcore.ISA]string{dlcore.Baseline: "baseline", dlcore.AVX2: "AVX2", dlcore.AVX512: "AVX-512", dlcore.AVX512BF: "AVX-512 with BF16"}
	s := engine.Statistics()
	fmt.Printf("{\"isa\": %q, \"threads\": %d, \"version\": %q}\n", isa[s.ISA], s.Threads, dlcore.BuildInfo())
	w := &worker{engine: engine}
	defer w.drop()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := w.answer(lines.Text())
		if err != nil {
			answer = "error " + err.Error()
		}
		fmt.Println(answer)
	}
}
