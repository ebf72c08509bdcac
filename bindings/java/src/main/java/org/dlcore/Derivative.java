// SPDX-License-Identifier: Apache-2.0
package org.dlcore;

import java.util.List;

/**
 * A value and derivatives that belong to it.
 *
 * @param value what the function makes
 * @param derivatives a gradient for each input, or the one tangent
 */
public record Derivative(Tensor value, List<Tensor> derivatives) {}
