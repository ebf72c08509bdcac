# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python binding share."""

import gc
import os
import unittest
from pathlib import Path

import dlcore as dl

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("DLCORE_BUILD", ROOT / "build"))
DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64"]  # those Python has formats for
NUMPY = ["bool", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]
main = unittest.main


def live(engine):
    """Handles that somebody holds, by type."""
    gc.collect()
    statistics = engine.statistics()
    return {name: getattr(statistics, name) for name in dir(statistics) if name.startswith("live_")}


class Case(unittest.TestCase):
    """A fresh engine and context, with nothing left at the end."""

    def setUp(self):
        self.engine = dl.Engine(threads=1)
        self.context = self.engine.context(seed=1)
        self.context.__enter__()
        dl.manual_seed(1)  # the context keeps a generator from now on
        self.before = live(self.engine)

    def tearDown(self):
        self.assertEqual(live(self.engine), self.before)
        self.context.__exit__(None, None, None)
        self.assertEqual(live(self.engine)["live_contexts"], 0)
        self.engine.close()

    def refused(self, kind, pattern, function, *arguments, **options):
        """The exception, checked for its class and text."""
        with self.assertRaisesRegex(kind, pattern) as caught:
            function(*arguments, **options)
        self.assertIs(type(caught.exception), kind)
        error = caught.exception
        error.__traceback__ = None  # which holds the tensors of the frames it passed
        return error

    def close_to(self, x, expected, tolerance=1e-6):
        import numpy as np

        np.testing.assert_allclose(np.asarray(x), expected, rtol=tolerance, atol=tolerance)
