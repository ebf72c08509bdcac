// SPDX-License-Identifier: Apache-2.0

// Package optim makes optimizers. Options are named types:
//
//	optim.NewAdam(dl, model.Parameters(), optim.LR(1e-3))
package optim
