// SPDX-License-Identifier: Apache-2.0

// Package nn makes layers and models. Options are named types:
//
//	nn.NewLinear(dl, 784, 10, nn.Bias(false), nn.Init("he_uniform"))
package nn

import "dlcore"

// Define makes a module of a layer written in Go; see [dlcore.Layer].
func Define(dl *dlcore.Context, layer dlcore.Layer) *dlcore.Module { return dlcore.Define(dl, layer) }
