// SPDX-License-Identifier: Apache-2.0

/** Deep learning: tensors, gradients, layers, optimizers, data, graphs. */
module org.dlcore {
  exports org.dlcore;
  exports org.dlcore.nn;
  exports org.dlcore.op;
  exports org.dlcore.optim;
}
