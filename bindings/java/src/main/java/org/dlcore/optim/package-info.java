// SPDX-License-Identifier: Apache-2.0

/** Optimizers, and schedules of their learning rates. */
package org.dlcore.optim;
