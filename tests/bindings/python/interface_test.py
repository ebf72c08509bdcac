#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The generated layers: complete, documented, and proof against whatever they are given."""

import inspect
import json
import re
import tracemalloc

import dlcore as dl
from dlcore import _dlcore as raw
from dlcore import nn, optim
from support import ROOT, Case, main


class Interface(Case):
    def test_everything_is_there(self):
        """All functions of the headers, but those that the interface says it leaves out."""
        interface = (ROOT / "bindings/python/generated/dlcore.i").read_text(encoding="utf-8")
        left_out = set(re.findall(r"^%ignore (\w+); /\*", interface, re.MULTILINE))
        api = json.loads((ROOT / "capi/api.json").read_text(encoding="utf-8"))
        functions = {function["name"] for function in api["functions"] if function["header"] != "plugin.h"}
        self.assertEqual(functions - set(dir(raw)), left_out)
        catalogue = json.loads(raw.dlcore_catalogue_json()[0])
        self.assertLessEqual({op["name"] for op in catalogue["ops"] if not op["hidden"]}, set(dir(dl)))
        self.assertLessEqual({layer["name"] for layer in catalogue["layers"]}, set(dir(nn)))
        self.assertLessEqual({item["name"] for item in catalogue["optimizers"] + catalogue["schedules"]}, set(dir(optim)))

    def test_documented(self):
        catalogue = json.loads(raw.dlcore_catalogue_json()[0])
        for op in catalogue["ops"]:
            if op["hidden"]:
                continue
            function = getattr(dl, op["name"])
            first = " ".join(op["doc"].split())[:30]
            self.assertTrue(" ".join(inspect.getdoc(function).split()).startswith(first), op["name"])
            inputs = [one["name"] for one in op["inputs"] if not (op["effect"] == "random" and one["name"] == "key")]
            self.assertEqual(set(inspect.signature(function).parameters), {*inputs, *(attr["name"] for attr in op["attrs"])})
            if method := getattr(dl.Tensor, op["name"], None):
                self.assertTrue(inspect.getdoc(method), op["name"])
        for item in [*catalogue["layers"], *catalogue["optimizers"], *catalogue["schedules"]]:
            self.assertTrue(inspect.getdoc(getattr(nn, item["name"], None) or getattr(optim, item["name"])))
        public = [name for name in dir(dl) if not name.startswith("_")]
        undocumented = [name for name in public if (inspect.isroutine(getattr(dl, name)) or inspect.isclass(getattr(dl, name))) and not getattr(dl, name).__doc__]
        self.assertEqual(undocumented, [])

    def test_arguments_leave_nothing(self):
        ctx, x, buffer = self.context, dl.tensor([1.0, 2.0]), bytearray(8)
        calls = [
            lambda: raw.dlcore_op_invoke(ctx, 35, [x], [], -1, 0), lambda: raw.dlcore_op_invoke(ctx, 35, [x], [], 1 << 40, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x], [], "1", 0), lambda: raw.dlcore_op_invoke(ctx, 35, [x, 1], [], 1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x, ctx], [], 1, 0), lambda: raw.dlcore_op_invoke(ctx, 35, 7, [], 1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x], [1, "a"], 1, 0), lambda: raw.dlcore_op_invoke(ctx, 35, [x], [1 << 64], 1, 0),
            lambda: raw.dlcore_tensor_create(ctx, 9, [1], "text"), lambda: raw.dlcore_tensor_create(ctx, 9, [1 << 64], buffer),
            lambda: raw.dlcore_tensor_read(ctx, x, 9, bytes(8)), lambda: raw.dlcore_tensor_read(ctx, x, "f32", buffer),
            lambda: raw.dlcore_context_open(self.engine, "cpu", -1, 0), lambda: raw.dlcore_op_register(ctx, "n", 1, 1, 0, (1, 2)),
            lambda: raw.dlcore_module_write(ctx, nn.ReLU(), 3), lambda: raw.dlcore_archive_save(ctx, "p", [1], [x]),
            lambda: raw.op(ctx, 35, [x], [], 0), lambda: raw.op(ctx, 35, [x], ["a"], 1), lambda: raw.from_buffer(ctx),
            lambda: raw.extend(int, "a", 1), lambda: raw.make_as(int), lambda: raw.adopt(int, 1), lambda: raw.address(3),
            lambda: x._take(ctx), lambda: raw.set_hooks(1), lambda: raw.dlcore_tensor_dtype(), lambda: raw.dlcore_ok(1, 2),
        ]
        for turn in range(301):
            for index, function in enumerate(calls):
                with self.subTest(index), self.assertRaises((TypeError, ValueError, OverflowError, BufferError)):
                    function()
            self.refused(dl.InvalidArgument, "relu", raw.dlcore_op_invoke, ctx, 35, [None], [], 1, 0)
            raw.dlcore_tensor_read(ctx, x, 9, buffer)
            buffer.append(0)  # a BufferError while somebody holds it
            del buffer[8:]
            if turn == 0:
                tracemalloc.start()
            elif turn == 100:
                before = tracemalloc.get_traced_memory()[0]
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        self.assertLess(grown, 20_000)  # a word for each call would be 40,000 and more

    def test_none_for_what_is_needed(self):
        for function in (lambda: raw.dlcore_backward(self.context, None), lambda: raw.dlcore_module_call(self.context, None, None),
                         lambda: raw.dlcore_context_set_seed(None, 1), lambda: raw.dlcore_graph_compile(self.context, None, None)):
            with self.assertRaises(dl.InvalidArgument):
                function()

    def test_records_know_their_size(self):
        x, description = dl.full([2, 3], 1.0), raw.dlcore_tensor_description()
        self.assertIsNone(raw.dlcore_tensor_describe(self.context, x, description))
        self.assertEqual((description.shape[:3], description.device), ([2, 3, 0], "cpu"))
        self.assertEqual(description.dtype, raw.DLCORE_F32)

    def test_stubs_name_everything(self):
        stub = (ROOT / "bindings/python/dlcore/_dlcore.pyi").read_text(encoding="utf-8")
        named = set(re.findall(r"^(?:def|class) (\w+)|^(\w+): int", stub, re.MULTILINE))
        named = {name for pair in named for name in pair if name}
        there = {name for name in dir(raw) if not name.startswith("_") and not name.endswith("_swigregister")}
        self.assertEqual({name for name in there - named if not name.startswith("SWIG")} - {"SHARED_LIBRARY"}, set())
        methods = set(re.findall(r"^    def (\w+)\(|^    @property\n    def (\w+)", stub, re.MULTILINE))
        methods = {name for pair in methods for name in pair if name}
        self.assertEqual({name for name in dir(dl.Tensor) if not name.startswith("_")} - methods, set())


if __name__ == "__main__":
    main()
