// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"dlcore"
)

var soak = flag.Int("soak", 50_000, "calls of TestSoak; a tenth as many fail on top")

const rounds = 6 // of calls: a leak grows in each, heaps settle

// Live handles stay flat, and resident memory within a twentieth of what it was a round before.
func TestSoak(t *testing.T) {
	engine := openEngine(t)
	dl, err := engine.Context("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer dl.Close()
	x, y := dl.Full([]int{4, 4}, 1), dl.Full([]int{3, 5}, 1)
	model, row := classifier(dl), dl.Full([]int{1, 4}, 0.5)
	op, err := dl.Register(cube("soak"))
	if err != nil {
		t.Fatal(err)
	}
	alive := engine.Statistics().LiveTensors
	call := func(i int) {
		scope := dl.Scope()
		early := x.Add(x)
		switch i % 4 {
		case 0:
			early.Multiply(2)
		case 1:
			_, _ = early.Sum(dlcore.Axes{0}).Float32s()
		case 2:
			model.Call(row)
		case 3:
			dl.Call(op, []*dlcore.Tensor{x}, []int64{1}, 1)
		}
		early.Close()
		if i%10 == 0 {
			if x.Matmul(y); dl.TakeErr() == nil {
				t.Fatal("a call with wrong shapes did not fail")
			}
		}
		scope.Close()
		if n := engine.Statistics().LiveTensors; n > alive+64 {
			t.Fatalf("after %d calls %d tensors are alive, before there were %d", i+1, n, alive)
		}
	}
	warm := 0
	for round := range rounds {
		for i := range *soak {
			call(i)
		}
		end := resident(t)
		t.Logf("%d calls: resident memory %d KiB, before %d KiB", *soak, end/1024, warm/1024)
		if round > 0 && end <= warm+warm/20 {
			break
		}
		if round == rounds-1 {
			t.Errorf("resident memory went from %d to %d bytes in the last round", warm, end)
		}
		warm = end
	}
	requireOK(t, dl)
}

// resident is the memory of the process that is in use, what the collector still keeps for Go aside.
func resident(t *testing.T) int {
	debug.FreeOSMemory()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var total, pages int
	if _, err := fmt.Sscan(string(text), &total, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
