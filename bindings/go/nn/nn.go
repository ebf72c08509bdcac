// SPDX-License-Identifier: Apache-2.0

// Package nn makes layers and models. Options are named types:
//
//	nn.NewLinear(dl, 784, 10, nn.Bias(false), nn.Init("he_uniform"))
package nn
