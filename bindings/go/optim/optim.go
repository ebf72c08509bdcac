// SPDX-License-Identifier: Apache-2.0

// Package optim makes optimizers, and schedules of their learning rates. Options are named types:
//
//	adam := optim.NewAdam(dl, model.Parameters(), optim.LR(1e-3))
//	cosine := optim.NewCosineAnnealingLR(adam, 1000, optim.EtaMin(1e-5))
package optim
