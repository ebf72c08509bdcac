// SPDX-License-Identifier: Apache-2.0

/** Engine, contexts, tensors and their ops, data, files, graphs. */
package org.dlcore;
