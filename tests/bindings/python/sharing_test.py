#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy, the buffer protocol and DLPack: values, and who shares what with whom."""

import array
import gc
import math
import weakref

import dlcore as dl
import numpy as np
from dlcore import _dlcore as raw
from support import DTYPES, NUMPY, Case, main


def address(x):
    return np.asarray(x).__array_interface__["data"][0]


class Sharing(Case):
    def layouts(self, made):
        """The array, and views of it with all kinds of strides."""
        yield made
        yield made.T
        if made.ndim:
            yield made[::-1]
            yield made[..., ::2]
            yield made[..., 1:]
            yield np.broadcast_to(made, (2, *made.shape))
            yield np.swapaxes(np.stack([made, made], -1), 0, -1)[..., ::-1]

    def test_numpy(self):
        for dtype, name in zip(DTYPES, NUMPY):
            for shape in ((), (0,), (2, 0), (6,), (2, 3), (2, 3, 4)):
                for given in self.layouts(np.arange(math.prod(shape)).reshape(shape).astype(name)):
                    x = dl.tensor(given)
                    self.assertEqual((x.dtype, x.shape), (dtype, given.shape))
                    back = x.numpy()
                    self.assertEqual((back.dtype, back.shape), (given.dtype, given.shape))
                    self.assertTrue((back == given).all())
                    copied = x.numpy(copy=True)
                    self.assertTrue(copied.flags.writeable and (copied == given).all())

    def test_views_out(self):
        """Views reach NumPy with their strides, without a copy."""
        x = dl.tensor(np.arange(24.0).reshape(4, 6))
        for view in (x, x.T, x[1:], x[:, ::2], x[1, 2:], x.expand_dims(1).broadcast_to([4, 3, 6])):
            got = view.numpy()
            self.assertEqual((got.strides, got.flags.writeable), (tuple(8 * step for step in view.strides), False))
            self.assertTrue(0 <= address(view) - address(x) < 24 * 8)

    def test_odd_layouts_in(self):
        record = np.zeros(5, dtype=[("a", "i1"), ("b", "<f4")])
        record["b"] = np.arange(5)
        self.assertEqual(dl.tensor(record["b"]).tolist(), [0, 1, 2, 3, 4])  # steps of 5 bytes
        self.assertEqual(dl.tensor(memoryview(b"abc")).tolist(), [97, 98, 99])
        self.assertEqual(dl.tensor(array.array("d", [1.5, 2.5])).tolist(), [1.5, 2.5])
        self.assertEqual(dl.tensor(bytearray(b"\0\1")).dtype, "u8")
        self.assertEqual(dl.tensor([np.float32(1), np.float64(2)]).tolist(), [1.0, 2.0])

    def test_unknown_formats(self):
        for name in ("c8", ">f4", "u2", "u4", "u8", "S3", "M8[s]", "O"):
            with self.subTest(name), self.assertRaises((dl.InvalidArgument, ValueError, BufferError)):
                dl.tensor(np.zeros(2, name))
        self.assertEqual(dl.tensor(np.array([1, 2], ">f4"), "f32").tolist(), [1.0, 2.0])
        self.assertEqual(dl.tensor(np.array([1, 65535], "u2"), "i32").tolist(), [1, 65535])

    def test_numpy_takes_it(self):
        x = dl.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(np.asarray(x).dtype, "f4")
        self.assertEqual(np.asarray(x, "f8").dtype, "f8")
        self.assertTrue(np.array(x).flags.writeable)
        self.assertEqual(np.add(np.asarray(x), 1).tolist(), [[2.0, 3.0], [4.0, 5.0]])
        self.assertEqual((x * np.float32(2) + np.int64(1) - np.float64(1)).tolist(), [[2.0, 4.0], [6.0, 8.0]])
        self.assertEqual((np.float32(2) * x).dtype, "f32")
        for function in (lambda: x + np.ones((2, 2)), lambda: np.ones((2, 2)) + x):
            with self.assertRaises(TypeError):
                function()
        self.refused(dl.InvalidArgument, "bf16", x.astype("bf16").numpy)

    def test_buffers(self):
        x = dl.arange(0.0, 6.0, dtype="f32").reshape([2, 3])
        view = memoryview(x)
        self.assertEqual((view.format, view.shape, view.strides, view.readonly), ("f", (2, 3), (12, 4), True))
        self.assertEqual(bytes(x.T), x.T.tobytes())  # a copy in row-major order
        self.assertEqual(bytes(dl.full([0, 3], 1.0)), b"")
        with self.assertRaisesRegex(BufferError, "bf16"):
            memoryview(x.astype("bf16"))
        x.release()
        self.assertEqual(view.tolist(), [[0, 1, 2], [3, 4, 5]])  # the elements stay as long as somebody looks
        view.release()
        del view

    def test_dlpack_round_trip(self):
        for dtype in [*DTYPES, "bf16"]:
            x = dl.tensor([[1, 0], [1, 1]]).astype(dtype)
            for given in (x, x.T, x[:, 0], x[0, 0]):
                for copy in (True, False):
                    y = dl.from_dlpack(given, copy=copy)
                    self.assertEqual((y.dtype, y.shape, y.tobytes()), (given.dtype, given.shape, given.tobytes()))
        self.assertEqual(address(dl.from_dlpack(dl.full([100], 1.0), copy=False)) % 4, 0)

    def test_dlpack_with_numpy(self):
        given = np.arange(12.0).reshape(3, 4)
        borrowed = dl.from_dlpack(given, copy=False)
        self.assertEqual(address(borrowed), address(given))
        reference = weakref.ref(given)
        del given
        gc.collect()
        self.assertEqual(borrowed.sum().item(), 66.0)
        del borrowed
        gc.collect()
        self.assertIsNone(reference())
        x = dl.full([3], 2.0)
        back = np.from_dlpack(x)
        self.assertEqual(back.tolist(), [2.0] * 3)
        self.assertNotEqual(address(back), address(x))  # NumPy may write to what it was given

    def test_dlpack_by_hand(self):
        x = dl.full([3], 2.0)
        capsule = x.__dlpack__(max_version=(1, 0))
        self.assertIn('"dltensor_versioned"', repr(capsule))
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        raw.from_dlpack(self.context, capsule, True)
        self.assertIn("used", repr(capsule))
        with self.assertRaises(ValueError):  # it has been taken over
            raw.from_dlpack(self.context, capsule, True)
        del capsule
        x.__dlpack__()  # nobody takes it
        self.refused(dl.InvalidArgument, "stream", x.__dlpack__, stream=1)
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(TypeError):
            raw.from_dlpack(self.context, 3, True)


if __name__ == "__main__":
    main()
