// SPDX-License-Identifier: Apache-2.0

/** Layers and models. */
package org.dlcore.nn;
