# SPDX-License-Identifier: Apache-2.0
"""JAX's side of the benchmarks: compiled, on the CPU."""

import jax
from jax import numpy as jnp

from common import Work, fill, serve


def matmul(part):
    product = jax.jit(jnp.matmul)
    return Work("product(a, b).block_until_ready()",
                {"product": product, "a": jnp.asarray(fill(1, 1, 1024, 1024)), "b": jnp.asarray(fill(2, 1, 1024, 1024))})


serve(f"JAX {jax.__version__}", {"matmul_1024": matmul})
