// SPDX-License-Identifier: Apache-2.0

// Package dlcore is a deep-learning engine: tensors, derivatives, layers, optimizers, schedules, data, graphs.
//
//	dl, err := dlcore.Open("cpu", dlcore.Seed(42))
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer dl.Close()
//	model := nn.NewSequential(dl, nn.NewLinear(dl, 784, 256), nn.NewReLU(dl), nn.NewLinear(dl, 256, 10))
//
// # Errors
//
// Calls chain: the first failure sticks to the [Context], later calls do nothing, and what leaves the
// engine, as [Tensor.Float32] and [Module.SaveFile], returns it. [Context.Err] asks for it,
// [Context.TakeErr] clears it. [Error] has the kind ([Code]), the message, the op, and what caused it.
//
// # Lifetimes
//
// Nothing is left to the garbage collector unless a program asks for it ([Collected]). Tensors belong to
// the innermost [Scope]; each turn of a loop over a [Loader] is one. Everything else belongs to the context.
// Close gives an object back early, from any goroutine.
//
// # Goroutines
//
// A process opens one [Engine], which all goroutines share, and a [Context] for each of them. A context may
// move between goroutines and threads, but serves one call at a time. Tensors, variables and modules may be
// shared: [Tensor.On] and [Variable.On] make them run on another context, [Module.Call] runs on that of its
// input, and [Module.Snapshot] answers while the module itself is trained.
//
// # Options
//
// An option is a named type: x.Sum(dlcore.Axes{1}, dlcore.Keepdims(true)).
package dlcore
