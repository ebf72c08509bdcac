// SPDX-License-Identifier: Apache-2.0

/** Options of ops; see {@link org.dlcore.Options}. */
package org.dlcore.op;
