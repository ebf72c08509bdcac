// SPDX-License-Identifier: Apache-2.0

package main

import "dlcore"

const (
	pixels  = 784
	classes = 10
	probes  = 8 // different requests
)

// answer is the scores of the classes.
type answer [classes]float32

// ask is one request: a plain array in, a plain array out.
func ask(dl *dlcore.Context, model *dlcore.Module, number int) (a answer, err error) {
	scope := dl.Scope()
	defer scope.Close()
	err = dlcore.Read(model.Call(dl.Tensor(image(number), 1, pixels)), a[:])
	return a, err
}

func image(number int) []float32 {
	image, state := make([]float32, pixels), uint32(number)*2654435761+1
	for i := range image {
		state = state*1664525 + 1013904223
		image[i] = float32(state>>8) / (1 << 24)
	}
	return image
}
