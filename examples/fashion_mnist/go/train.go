// SPDX-License-Identifier: Apache-2.0

// Trains a small classifier on Fashion-MNIST, saves it, loads it back and reports its accuracy.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"

	"dlcore"
	"dlcore/nn"
	"dlcore/optim"
)

func classifier(dl *dlcore.Context) *dlcore.Module {
	return nn.NewSequential(dl, nn.NewLinear(dl, 784, 256), nn.NewReLU(dl), nn.NewLinear(dl, 256, 128), nn.NewReLU(dl),
		nn.NewLinear(dl, 128, 10))
}

func train(dl *dlcore.Context, o *options, losses io.Writer) error {
	dl.SetDataDirectory(o.data)
	training := batches(dl, "train", func(d *dlcore.Dataset) *dlcore.Loader { return d.Batch(64).Shuffle() })
	test := batches(dl, "test", func(d *dlcore.Dataset) *dlcore.Loader { return d.Batch(1000) })
	model, copied := classifier(dl), classifier(dl)
	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-3))
	state := dlcore.NewCheckpoint(dl).AddModule("model", model).AddOptimizer("adam", adam).AddLoader("train", training)
	if o.resume != "" {
		if err := state.LoadFile(o.resume); err != nil {
			return err
		}
	}

	steps := 0
	for epoch := training.Epoch(); epoch < o.epochs && !o.reached(steps) && dl.Err() == nil; epoch++ {
		var last float32
		status := func() string { return fmt.Sprintf("loss %.4f", last) }
		for x, y := range training.Progress(fmt.Sprintf("epoch %d/%d", epoch+1, o.epochs), status) {
			loss := dl.CrossEntropy(model.Call(x), y)
			loss.Backward()
			adam.Step() // uses the gradients and clears them
			var err error
			if last, err = loss.Float32(); err != nil { // carries the first error of the chain
				return err
			}
			fmt.Fprintln(losses, hex(last))
			if steps++; o.reached(steps) {
				break
			}
		}
	}
	if o.checkpoint != "" {
		if err := state.SaveFile(o.checkpoint); err != nil {
			return err
		}
	}

	if err := model.SaveFile(o.save); err != nil {
		return err
	}
	if err := copied.LoadFile(o.save); err != nil {
		return err
	}
	right, err := hits(dl, copied, test)
	if err == nil {
		fmt.Printf("accuracy %.4f\n", float64(right)/float64(test.Samples()))
	}
	return err
}

// hits is how many samples the model gets right.
func hits(dl *dlcore.Context, model *dlcore.Module, test *dlcore.Loader) (right int64, err error) {
	dl.Inference(func() {
		for x, y := range test.All() {
			n, _ := model.Call(x).Argmax(dlcore.Axis(1)).Equal(y).Sum().Int64()
			right += n
		}
	})
	return right, dl.Err()
}

func main() {
	log.SetFlags(0)
	o := parse(flag.CommandLine)
	engine, err := dlcore.OpenEngine(dlcore.Threads(o.threads))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	dl, err := engine.Context("cpu", dlcore.Seed(o.seed))
	if err != nil {
		log.Fatal(err)
	}
	defer dl.Close()
	losses, err := o.openLosses()
	if err != nil {
		log.Fatal(err)
	}
	if err := train(dl, o, losses); err != nil {
		log.Fatal(err)
	}
	if err := losses.Close(); err != nil {
		log.Fatal(err)
	}
}
