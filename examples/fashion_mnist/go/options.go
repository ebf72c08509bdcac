// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"flag"
	"io"
	"os"
	"strconv"
	"strings"
)

type options struct {
	epochs, threads, limit                 int
	seed                                   uint64
	data, losses, save, checkpoint, resume string
}

func parse(flags *flag.FlagSet) *options {
	o := &options{}
	flags.IntVar(&o.epochs, "epochs", 5, "passes over the training set")
	flags.IntVar(&o.threads, "threads", 0, "threads of the engine (0: all)")
	flags.IntVar(&o.limit, "limit", 0, "stop after so many steps (0: never)")
	flags.Uint64Var(&o.seed, "seed", 8, "seed of weights and order")
	flags.StringVar(&o.data, "data", "", "directory with the IDX files, plain or gzip")
	flags.StringVar(&o.losses, "losses", "", "file for the loss of each step, as a hexadecimal float")
	flags.StringVar(&o.save, "save", "fashion.safetensors", "file for the model")
	flags.StringVar(&o.checkpoint, "checkpoint", "", "file for the whole state after the last step")
	flags.StringVar(&o.resume, "resume", "", "checkpoint to go on from")
	flags.Parse(os.Args[1:])
	return o
}

func (o *options) reached(steps int) bool { return o.limit > 0 && steps >= o.limit }

// lossFile may be one that forgets what it is told.
type lossFile struct {
	*bufio.Writer
	io.Closer
}

func (o *options) openLosses() (*lossFile, error) {
	if o.losses == "" {
		return &lossFile{bufio.NewWriter(io.Discard), io.NopCloser(nil)}, nil
	}
	file, err := os.Create(o.losses)
	return &lossFile{bufio.NewWriter(file), file}, err
}

func (f *lossFile) Close() error {
	if err := f.Flush(); err != nil {
		return err
	}
	return f.Closer.Close()
}

// hex is a number as C's %a prints it: the exponent without leading zeros.
func hex(v float32) string {
	text := strconv.FormatFloat(float64(v), 'x', -1, 64)
	at := strings.IndexByte(text, 'p') + 2
	if at < 2 { // infinite or no number
		return strings.ToLower(strings.TrimPrefix(text, "+"))
	}
	return text[:at] + strings.TrimPrefix(text[at:], "0")
}
