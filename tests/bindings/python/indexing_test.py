#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""x[...], against NumPy."""

import dlcore as dl
import numpy as np
from support import Case, main


class Indexing(Case):
    def test_as_numpy(self):
        array = np.arange(60, dtype="i4").reshape(3, 4, 5)
        x = dl.tensor(array)
        mask = array % 3 == 0
        for index in [
            0, -1, (1, 2), (1, 2, 3), (-1, -2, -3), slice(None), slice(1, None), slice(None, -1), slice(0, 3, 2), slice(5, 9),
            slice(2, 1), slice(-100, 100), slice(None, None, -1), slice(2, None, -2), (slice(None, None, -1), slice(None, None, -1)),
            None, (None, 0), (0, None), (..., 0), (0, ...), ..., (..., None), (slice(1), None, slice(None), 2), (None, None, ..., None),
            (slice(1, 3), 0, slice(None, None, 2)), (slice(None), None, -1, None), np.int64(1), (np.int32(1), ...),
            [0, 2], [-1, 0, 0], [[0, 1], [2, 0]], (slice(None), [1, 3]), (..., [0, -1]), (0, [1, 2]), ([1, 2], 0), (0, 0, [1]),
            (slice(None), [1, 3], None), (slice(None, None, -1), [1]), [True, False, True], (slice(None), [True, False, True, True]),
            [], (slice(None), []), (), ([0, 2], [1, -1]), ([0, 2], [1, 3], [4, -5]), (slice(None), [0, 1, 3], [4]),
            ([[0], [2]], [1, 3]), (..., [1, 2], [0, 1]), ([0, 1], 2, [3, -1]), (1, [0, 1], [2, 3]), (None, [0, 2], [1, 1]),
            ([0, 2], [1, 1], None), ([], []), (slice(None, None, -1), [0, 1], [2, 3])]:
            with self.subTest(index=index):
                expected = array[index]
                got = x[index]
                self.assertEqual((got.shape, got.dtype), (expected.shape, "i32"))
                self.assertEqual(got.tolist(), expected.tolist())
        for which in (mask, mask[0], mask[:, 0, 0]):
            self.assertEqual(x[dl.tensor(which)].tolist() if which.ndim != 2 else x[0][dl.tensor(which)].tolist(),
                             array[which].tolist() if which.ndim != 2 else array[0][which].tolist())
        for indices in (np.array([0, 2]), np.array([[1], [-1]]), np.array(2)):
            self.assertEqual(x[dl.tensor(indices)].tolist(), array[indices].tolist())
        self.assertEqual(x[:, dl.tensor([[0, 1], [3, 3]]), None].tolist(), array[:, [[0, 1], [3, 3]], None].tolist())
        rows, labels = dl.arange(0, 3), dl.tensor([1, 3, 0])
        self.assertEqual(x[:, :, 0][rows, labels].tolist(), array[:, :, 0][np.arange(3), [1, 3, 0]].tolist())
        self.assertEqual(dl.tensor(5)[()].item(), 5)
        self.assertEqual(dl.tensor(5)[None].tolist(), [5])

    def test_views(self):
        x = dl.tensor(np.arange(12.0).reshape(3, 4))
        for view in (x[1:], x[:, ::2], x[0], x[None], x[..., 1]):
            self.assertEqual(view.numpy().__array_interface__["data"][0] - x.numpy().__array_interface__["data"][0],
                             int(view.numpy().flat[0]) * 8)

    def test_gradients(self):
        x = dl.tensor(np.arange(12.0).reshape(3, 4))
        for index in (1, slice(None, None, -1), [0, 0, 2], (..., 1), [True, False, True], ([0, 1, 1], [2, -1, 3])):
            gradient = dl.grad(lambda v: v[index].sum())(x)
            expected = np.zeros((3, 4))
            np.add.at(expected, index, 1.0)
            self.assertEqual(gradient.tolist(), expected.tolist())

    def test_refused(self):
        x = dl.tensor(np.zeros((3, 4)))
        for index, kind, text in [
                (3, dl.OutOfRange, "index is 3, expected -3 to 2 along axis 0"), ((0, -5), dl.OutOfRange, "along axis 1"),
                ((0, 0, 0), dl.InvalidArgument, "3 indices for a tensor of 2 axes"), ((..., ...), dl.InvalidArgument, "ellipsis"),
                ([3], dl.OutOfRange, "3"), (([0, 1], [0, 1, 2]), dl.InvalidArgument, "broadcast"),
                (([0], [4]), dl.OutOfRange, "4"), (([0, 1], [True, False, True, True]), dl.InvalidArgument, "a mask beside"),
                ([True], dl.InvalidArgument, "mask is"),
                ([0.5], dl.InvalidArgument, "expected integers"), (True, dl.InvalidArgument, "a bool is no index"),
                (dl.tensor([0.0]), dl.InvalidArgument, "expected integers")]:
            with self.subTest(index=index):
                self.refused(kind, text, lambda: x[index])
        self.refused(dl.InvalidArgument, "stand apart", lambda: dl.tensor(np.zeros((2, 3, 4)))[0, :, [1]])
        for index, kind in (("a", Exception), (1.5, Exception), (slice(None, None, 0), ValueError), (slice(0.5), TypeError)):
            with self.assertRaises(kind):
                x[index]


if __name__ == "__main__":
    main()
