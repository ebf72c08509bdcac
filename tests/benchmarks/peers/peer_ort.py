# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's side of the benchmarks: 784-256-128-10 from the caller's floats to the caller's floats."""

import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from common import MLP_SIZES, Work, fastest, fill, parameter, serve

THREADS = int(sys.argv[1])


def network(rows):
    nodes, weights, value = [], [], "x"
    for layer, (inputs, outputs) in enumerate(zip(MLP_SIZES, MLP_SIZES[1:])):
        for kind, index, shape in (("w", 2 * layer, (outputs, inputs)), ("b", 2 * layer + 1, (outputs,))):
            weights.append(numpy_helper.from_array(parameter(index, shape), f"{kind}{layer}"))
        last = layer == len(MLP_SIZES) - 2
        nodes.append(helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], ["y" if last else f"h{layer}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"h{layer}"], [f"r{layer}"]))
            value = f"r{layer}"
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, MLP_SIZES[0]])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, MLP_SIZES[-1]])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model.SerializeToString()


def session(rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.force_spinning_stop", "1")  # its threads rest once a run is over
    return onnxruntime.InferenceSession(network(rows), options, providers=["CPUExecutionProvider"])


def plain(rows):
    return Work("run(outputs, feed)[0]", {"run": session(rows).run, "outputs": ["y"], "feed": {"x": fill(100, 2, rows, 784)}})


def bound(rows):
    """With memory for input and output bound once."""
    model = session(rows)
    binding, y = model.io_binding(), numpy.zeros((rows, MLP_SIZES[-1]), numpy.float32)
    x = onnxruntime.OrtValue.ortvalue_from_numpy(fill(100, 2, rows, 784))
    binding.bind_ortvalue_input("x", x)
    binding.bind_output("y", "cpu", 0, numpy.float32, y.shape, y.ctypes.data)
    return Work("run(binding)", {"run": model.run_with_iobinding, "binding": binding}, result=lambda: y)


def infer(rows):
    return fastest(lambda: plain(rows), lambda: bound(rows))


serve(f"ONNX Runtime {onnxruntime.__version__}", {"infer_b1": lambda part: infer(1), "infer_b64": lambda part: infer(64)})
