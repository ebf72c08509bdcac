#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers, lists and texts in and out."""

import math
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import dlcore as dl
from dlcore import nn
from support import DTYPES, Case, main


class Conversion(Case):
    def test_lists(self):
        for dtype in DTYPES:
            for values in (1, [], [1, 0], [[1], [0]], [[[1, 0, 1]], [[0, 0, 1]]]):
                x = dl.tensor(values, dtype)
                with self.subTest(dtype=dtype, values=values):
                    self.assertEqual((x.dtype, x.tolist()), (dtype, values))
        self.assertEqual(dl.tensor([1.5, -2.0], "bf16").tolist(), [1.5, -2.0])
        self.assertEqual(dl.tensor([math.inf, 65504, 2**-24], "f16").tolist(), [math.inf, 65504.0, 2**-24])

    def test_types_of_elements(self):
        for dtype in DTYPES:
            kind = bool if dtype == "bool" else float if dtype.startswith("f") else int
            self.assertIs(type(dl.tensor([1], dtype).item()), kind)
        for dtype, least, most in (("u8", 0, 255), ("i8", -128, 127), ("i16", -(2**15), 2**15 - 1), ("i64", -(2**63), 2**63 - 1)):
            self.assertEqual(dl.tensor([least, most], dtype).tolist(), [least, most])

    def test_empty_shapes(self):
        for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), ()):
            self.assertEqual(dl.full(shape, 1.0).shape, shape)
        self.assertEqual(dl.full((3, 0), 1.0).tolist(), [[], [], []])
        self.assertEqual(dl.full((2, 0, 3), 1.0).tolist(), [[], []])

    def test_default_dtypes(self):
        for values, dtype in ((True, "bool"), (1, "i64"), (1.0, "f32"), ([True, 2], "i64"), ([1, 2.0], "f32"), ([], "f32")):
            self.assertEqual(dl.tensor(values).dtype, dtype)

    def test_out_of_range(self):
        for dtype, value in (("u8", -1), ("u8", 256), ("i8", 128), ("i64", 2**63), ("i32", 1.5), ("f16", 1e6)):
            with self.subTest(dtype=dtype):
                self.refused(dl.InvalidArgument, f"does not fit {dtype}", dl.tensor, [value], dtype)

    def test_not_numbers(self):
        for values in (["a"], [[1], 2], [1, [2]], [None], [[1, 2], [3]], {}, object(), ["1"], [1j]):
            with self.subTest(values=values):
                self.refused(dl.InvalidArgument, "^tensor: ", dl.tensor, values)

    def test_views_are_read_in_row_major_order(self):
        x = dl.arange(0, 12).reshape([3, 4])
        self.assertEqual(x.slice([1], [3], axes=[1]).tolist(), [[1, 2], [5, 6], [9, 10]])
        self.assertEqual(x.permute_dims([1, 0]).tolist()[1], [1, 5, 9])
        self.assertEqual(x.T.tobytes(), b"".join(value.to_bytes(8, "little") for row in zip(*x.tolist()) for value in row))

    def test_numbers_are_weak(self):
        for dtype in ("i8", "i64", "f16", "bf16", "f32", "f64"):
            self.assertEqual((dl.tensor([1], dtype) * 2).dtype, dtype)
            self.assertEqual(dl.add(3, dl.tensor([1], dtype)).dtype, dtype)
        x = dl.tensor([4.0])
        self.assertEqual([(x - 1).item(), (1 - x).item(), (x / 2).item(), (2 / x).item(), (2**x).item(), (-x).item(), (+x).item(),
                          abs(-x).item(), (x // 3).item(), (9 // x).item(), (x % 3).item(), (9 % x).item()],
                         [3.0, -3.0, 2.0, 0.5, 16.0, -4.0, 4.0, 4.0, 1.0, 2.0, 1.0, 1.0])
        found = [bool(value) for value in (x == 4, x != 4, x < 5, x >= 5, 5 > x)]
        self.assertEqual(found, [True, False, True, False, True])
        self.assertEqual((dl.tensor([True]) & True).item(), True)
        self.assertEqual((~dl.tensor([True]) | dl.tensor([True]) ^ True).item(), False)
        self.refused(dl.InvalidArgument, "i64", lambda: dl.tensor([1]) + 0.5)

    def test_numbers_of_large_tensors(self):
        x = dl.full([1 << 16], 3.0)  # from here on others run meanwhile
        for value, expected in ((x + 1, 4.0), (1 - x, -2.0), (x / 2, 1.5), (2 / x, 2 / 3)):
            self.assertAlmostEqual(value.mean().item(), expected, places=6)

    def test_options(self):
        x = dl.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(x.sum(axes=0, keepdims=True).tolist(), [[4.0, 6.0]])
        self.assertEqual(x.sum(keepdims=True).tolist(), [[10.0]])
        self.assertEqual(x.argmax(axis=1).tolist(), [1, 1])
        self.assertEqual(x.clip(max=2.0).tolist(), [[1.0, 2.0], [2.0, 2.0]])
        self.assertEqual(x.clip(None, 2.0).tolist(), [[1.0, 2.0], [2.0, 2.0]])
        self.assertEqual(dl.concat([x, x], 1).shape, (2, 4))
        self.assertEqual(dl.full([2], 3.0, dtype="i32").tolist(), [3, 3])
        self.assertEqual(dl.full(2, 3.0).tolist(), [3.0, 3.0])
        self.assertEqual(dl.layer_norm(x).shape, (2, 2))
        self.assertEqual(dl.gelu(x, approximate="tanh").shape, (2, 2))
        self.refused(dl.InvalidArgument, "approximate", x.gelu, approximate="nearly")

    def test_python_protocols(self):
        x = dl.tensor([3])
        self.assertEqual((int(x), float(x), bool(x), [7, 8, 9, 10][x], len(x), [y.item() for y in x]), (3, 3.0, True, 10, 1, [3]))
        self.assertEqual(len({x, x, dl.tensor([3])}), 2)
        with self.assertRaises(TypeError):
            len(dl.tensor(1.0))
        with self.assertRaises(TypeError):
            [1, 2][dl.tensor(1.0)]
        self.refused(dl.InvalidArgument, "expected one", lambda: bool(dl.tensor([1.0, 2.0])))

    def test_repr(self):
        self.assertRegex(repr(dl.tensor([1.0])), r"^tensor f32 \[1\]")
        self.assertRegex(dl.tensor([1.0])._repr_html_(), r"^<div><code>tensor f32 \[1\].*<pre>.*1")
        self.assertEqual(repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())), "Sequential(Linear(9 values), ReLU())")

    def test_texts(self):
        """U+1F642 is F0 9F 99 82 on the other side."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "größe 🙂.safetensors"
            dl.save(path, {"🙂": dl.tensor([1.0])})
            self.assertIn(b"\xf0\x9f\x99\x82", path.read_bytes())
            self.assertEqual(list(dl.load(path)), ["🙂"])
        self.assertEqual(nn.Variable("a🙂", dl.tensor(1.0)).name, "a🙂")
        self.refused(dl.NotFound, "🙂", nn.Linear(1, 1).variable, "🙂")
        with self.assertRaises(UnicodeEncodeError):
            nn.Variable("\ud83d", dl.tensor(1.0))

    def test_pickle(self):
        for dtype in [*DTYPES, "bf16"]:
            for shape in ((), (0, 2), (2, 3)):
                x = dl.full(shape, 1.0, dtype="f32").astype(dtype)
                y = pickle.loads(pickle.dumps(x))
                self.assertEqual((y.dtype, y.shape, y.tobytes()), (x.dtype, x.shape, x.tobytes()))

    def test_numpy_is_not_needed(self):
        program = "import sys; sys.modules['numpy'] = None; import dlcore as dl; print((dl.tensor([1.]) * 3).tolist())"
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, "[3.0]\n")

    def test_what_import_loads(self):
        program = "import dlcore, sys; print(sorted({'numpy', 'asyncio', 'inspect'} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, "[]\n")


if __name__ == "__main__":
    main()
