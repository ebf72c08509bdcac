# SPDX-License-Identifier: Apache-2.0
"""The benchmarks, their peers and their bars, in one table."""

from dataclasses import dataclass

THREADS = 2


@dataclass(frozen=True)
class Benchmark:
    """A bar is a ratio, ours to the peer's time or size; `limit` is one in the unit, whatever the peer needs, and `over`
    what it may take more than the peer, in the unit."""
    name: str
    unit: str
    peers: tuple[str, ...]
    bar: float | None
    what: str
    parts: tuple[str, ...] = ("",)  # measured one by one; their geometric mean counts
    limit: float | None = None
    over: float | None = None
    side: str = "ours"  # the worker that is measured
    runs: str = ""  # what that worker calls it, when it is something else
    peer_part: str = ""  # what the peer calls it
    kind: str = "work"  # work of a warm worker; start, memory: of a program; size: of a library


def call_cost(name, side, over, what):
    """What a call costs in a language, against the same call from C."""
    return Benchmark(name, "ns", ("ours",), None, what, over=over, side=side, peer_part="add16_c")


SMALL_PRODUCTS = ("64x256x784", "64x128x256", "1x256x784", "10000x20x20", "512x512x512")

BENCHMARKS = (
    Benchmark("mlp_step_eager", "us", ("torch",), 0.55, "training step of 784-256-128-10, Adam, batch 64"),
    Benchmark("cnn_step_eager", "ms", ("torch",), 0.80, "training step of conv 32, pool, conv 64, pool, 128, 10 on 28x28, Adam, batch 64"),
    Benchmark("add16_c", "ns", ("numpy",), 0.42, "a + b of 16 floats, from C; the peer's from Python"),
    Benchmark("add16_c_grad", "ns", ("torch",), 0.15, "the same, recorded for gradients"),
    Benchmark("mul_scalar16_c", "ns", ("numpy",), 0.42, "a * 2.0 of 16 floats, from C; the peer's from Python"),
    Benchmark("matmul_1024", "ms", ("torch", "jax"), 1.10, "1024x1024 by 1024x1024, against the faster peer"),
    Benchmark("matmul_small", "us", ("torch",), 1.00, "products MxNxK of " + ", ".join(SMALL_PRODUCTS), SMALL_PRODUCTS),
    Benchmark("conv_64x56", "ms", ("torch",), 1.00, "conv2d 64 to 64 channels, 3x3, 56x56, batch 1"),
    Benchmark("chain_eager", "ms", ("torch",), 1.00, "gelu(2x + 1) * sigmoid(x) of 4 Mi floats, op by op"),
    Benchmark("softmax_rows", "ms", ("torch",), 0.70, "softmax of 8192 rows of 1000"),
    Benchmark("layer_norm_rows", "ms", ("torch",), 1.05, "layer norm of 8192 rows of 768"),
    Benchmark("sum_all_4m", "us", ("torch",), 1.00, "sum of 2048x2048 floats"),
    Benchmark("sum_axis0", "us", ("torch",), 1.00, "sum over the first axis of 2048x2048"),
    Benchmark("sum_strided", "us", ("torch",), 1.00, "sum of every second column of 2048x4096; row sums of a transposed 2048x2048",
              ("columns", "transposed")),
    Benchmark("gather_rows", "ms", ("torch",), 1.00, "100,000 rows of 128 floats from a table of 100,000"),
    Benchmark("max_pool", "ms", ("torch",), 1.00, "2x2 max pooling of 64x32x28x28"),
    Benchmark("adam_10m", "ms", ("torch",), 1.00, "Adam update of ten 1000x1000 parameters; the peer's fused"),
    Benchmark("infer_b1", "us", ("ort",), 1.00, "784-256-128-10 as a compiled graph, from floats to floats, batch 1"),
    Benchmark("infer_b64", "us", ("ort",), 1.10, "the same, batch 64"),
    Benchmark("cold_start_c", "ms", ("torch",), None, "from the start of the process to a finished training step", limit=40, kind="start"),
    Benchmark("rss_mlp", "MB", ("torch",), None, "peak resident memory of the Fashion-MNIST training program", limit=100, kind="memory"),
    Benchmark("lib_size", "MB", ("torch",), None, "the library, stripped; the peer's libtorch_cpu.so", limit=8, kind="size"),
    call_cost("add16_python", "python", 40, "a + b of 16 floats from Python, with the release of the result"),
    Benchmark("add16_python_numpy", "ns", ("numpy",), 1.00, "the same, against NumPy's", side="python", runs="add16_python",
              peer_part="add16_c"),
    call_cost("add16_java", "java", 40, "the same from Java"),
    call_cost("add16_go", "go", 80, "the same from Go"),
    call_cost("add16_csharp", "coreclr", 40, "the same from C# on CoreCLR"),
    call_cost("add16_csharp_mono", "mono", 130, "the same from C# on Mono"),
    call_cost("add16_rust", "rust", 5, "the same from Rust"),
    Benchmark("callers32", "us", ("ours again",), 1.05, "an answer of infer_b1 with 32 threads calling, against 2 threads calling", ("32", "2")),
)

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "MB": 1e6}
# Workers in other languages: what tools/languages calls them.
LANGUAGE_WORKERS = {"python": "worker_python", "java": "worker_java", "go": "worker_go", "coreclr": "worker_csharp coreclr",
                    "mono": "worker_csharp mono", "rust": "worker_rust"}
PEER_NAMES = {"ours": "C", "torch": "torch", "jax": "JAX", "ort": "ONNX Runtime", "numpy": "NumPy", "ours again": "dlcore, 2 callers"}


def verdict(row):
    """met, missed, busy (nothing is claimed), or "" where there is no bar to compare with."""
    if row["busy"]:
        return "busy"
    if row["limit"] is not None:
        return "met" if row["ours"] <= row["limit"] else "missed"
    if row["over"] is not None and row["peer"] is not None:
        return "met" if row["ours"] <= row["peer"] + row["over"] else "missed"
    if row["bar"] is None or row["ratio"] is None:
        return ""
    return "met" if row["ratio"] <= row["bar"] else "missed"


def bar_text(row):
    if row["limit"] is not None:
        return f"{row['limit']:g} {row['unit']}"
    if row["over"] is not None:
        return f"+{row['over']:g} {row['unit']}"
    return "" if row["bar"] is None else f"{row['bar']:.2f}"
