// SPDX-License-Identifier: Apache-2.0
package org.dlcore.internal;

import org.dlcore.Resource;

/** A list of variables that is all the trainable ones of one module. */
public interface ModuleParameters {
  Resource module();
}
