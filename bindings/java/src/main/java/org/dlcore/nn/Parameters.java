// SPDX-License-Identifier: Apache-2.0
package org.dlcore.nn;

import java.util.AbstractList;
import java.util.List;
import org.dlcore.Resource;
import org.dlcore.Variable;
import org.dlcore.internal.ModuleParameters;

/** The trainable variables of a module, which an optimizer takes as one group by their module. */
final class Parameters extends AbstractList<Variable> implements ModuleParameters {
  private final Module module;
  private final List<Variable> variables;

  Parameters(Module module, List<Variable> variables) {
    this.module = module;
    this.variables = variables;
  }

  @Override
  public Resource module() {
    return module;
  }

  @Override
  public Variable get(int index) {
    return variables.get(index);
  }

  @Override
  public int size() {
    return variables.size();
  }
}
