// SPDX-License-Identifier: Apache-2.0
// Transcendental functions on vectors of f32 and f64, for every instruction set: vmath::exp(d, x)
// and so on. Include it inside a kernel file (see targets.h), after highway.h. The formulas are the
// same everywhere; results may differ in the last bits between instruction sets with and without
// FMA. Errors are within 2.4 ulp, of gelu within 7; subnormal numbers, infinities and NaN are
// served.
#include "backends/cpu/vector_math/error_function.h"
#include "backends/cpu/vector_math/exp_log.h"
#include "backends/cpu/vector_math/trigonometric.h"
