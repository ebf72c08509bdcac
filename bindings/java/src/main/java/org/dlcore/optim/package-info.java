// SPDX-License-Identifier: Apache-2.0

/** Optimizers. */
package org.dlcore.optim;
