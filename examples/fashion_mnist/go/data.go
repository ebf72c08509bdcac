// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"dlcore"
)

// batches are those of Fashion-MNIST, or of generated data where it is not installed.
func batches(dl *dlcore.Context, part string, cut func(*dlcore.Dataset) *dlcore.Loader) *dlcore.Loader {
	loader := cut(dl.FashionMNIST(part)).Open()
	if !errors.Is(dl.Err(), dlcore.NotFound) {
		return loader
	}
	dl.TakeErr()
	fmt.Printf("Fashion-MNIST (%s) is not installed (package dataset-fashion-mnist): using generated data instead\n", part)
	if part == "train" {
		return cut(generated(dl, 6000, 11)).Open()
	}
	return cut(generated(dl, 1000, 12)).Open()
}

// generated is ten fixed random patterns with noise on top.
func generated(dl *dlcore.Context, n int, seed uint64) *dlcore.Dataset {
	dl.SetSeed(7)
	patterns := dl.RandomUniform([]int{10, 784})
	dl.SetSeed(seed)
	noise := dl.RandomUniform([]int{n, 784})
	labels := dl.RandomIntegers([]int{n}, 0, 10)
	samples := labels.OneHot(10).Matmul(patterns).Multiply(0.5).Add(noise.Multiply(0.5))
	return dl.FromTensors(samples, labels)
}
