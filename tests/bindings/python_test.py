#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python binding: what is its own -- lifetimes, errors, conversion -- and that its numbers are those of C.

Needs PYTHONPATH=BUILD/bindings/python and DLCORE_BUILD=BUILD.
"""

import gc
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest
from pathlib import Path

import dlcore as dl
from dlcore import _dlcore as raw
from dlcore import data, nn, optim

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["DLCORE_BUILD"])
DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64"]  # those Python has formats for


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
        return caught.exception


class Ownership(Case):
    def step(self, model, optimizer, x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return (loss * 2 + 1).item()

    def test_calls_leave_nothing(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        optimizer = optim.Adam(model.parameters())
        x, y = dl.tensor([[1.0, 2.0, 3.0, 4.0]] * 2), dl.tensor([0, 1])
        self.step(model, optimizer, x, y)
        before = live(self.engine)
        for _ in range(10_000):
            self.step(model, optimizer, x, y)
        self.assertEqual(live(self.engine), before)

    def test_failing_calls_leave_nothing(self):
        x, model = dl.tensor([1.0, 2.0]), nn.Linear(3, 2)
        failing = [
            lambda: x.reshape([3]), lambda: x + dl.tensor([1.0, 2.0, 3.0]), lambda: model(x), lambda: x.backward(),
            lambda: nn.Linear(-1, 2), lambda: optim.Adam(model.parameters(), lr=math.nan), lambda: x.astype("f31"),
            lambda: dl.tensor([[1.0], [1.0, 2.0]]), lambda: data.source("nowhere:x").batch(1),
            lambda: dl.concat([x, x], 5),
        ]
        for turn in range(1001):
            for function in failing:
                with self.assertRaises(dl.Error):
                    function()
            if turn == 0:
                before = live(self.engine)
        self.assertEqual(live(self.engine), before)

    def test_loaders_leave_nothing(self):
        loader = data.from_tensors(dl.tensor([[1.0], [2.0], [3.0]]), dl.tensor([0, 1, 2])).batch(2)
        before = live(self.engine)
        for turn in range(100):
            for x, y in loader:
                if turn % 2:
                    break
        del x, y
        self.assertEqual(live(self.engine), before)

    def test_release(self):
        for make in [lambda: dl.tensor([1.0]), lambda: nn.ReLU(), lambda: nn.Linear(1, 1).parameters()[0],
                     lambda: optim.SGD(nn.Linear(1, 1).parameters()),
                     lambda: data.from_tensors(dl.tensor([[1.0]]), dl.tensor([0])).batch(1)]:
            made = make()
            made.release()
            kind = type(made).__name__.lower()
            with self.subTest(kind):
                self.refused(dl.FailedPrecondition, f"^{kind}: it has been released$", made.release)

    def test_use_after_release(self):
        x, layer = dl.tensor([1.0]), nn.ReLU()
        kept = layer(x)
        x.release()
        layer.release()
        for use in [lambda: x + 1, lambda: kept + x, x.item, lambda: x.shape, lambda: layer(kept), x.tolist, x.backward,
                    lambda: dl.stack([kept, x]), lambda: repr(x), lambda: nn.Sequential(layer)]:
            self.refused(dl.FailedPrecondition, "it has been released", use)
        self.assertEqual(kept.item(), 1.0)

    def test_close(self):
        context = self.engine.context()
        with context:
            x = dl.tensor([1.0])
        context.close()
        self.refused(dl.FailedPrecondition, "context: it has been released", lambda: x + 1)
        x.release()
        context.__del__()

    def test_objects_outlive_their_engine(self):
        engine = dl.Engine(threads=2)
        context = engine.context()
        with context:
            x, layer = dl.tensor([1.0]), nn.Linear(1, 1)
            engine.close()
            self.refused(dl.FailedPrecondition, "engine", lambda: x + 1)
            engine.close()
        del x, layer, context, engine

    def test_parts_keep_their_whole(self):
        weight = nn.Sequential(nn.Linear(2, 1)).parameters()[0]
        gc.collect()
        self.assertEqual(weight.value.shape, (1, 2))
        self.assertEqual(weight.name, "0.weight")


class Errors(Case):
    def test_a_class_for_each_code(self):
        names = [name for name in dir(raw) if isinstance(getattr(raw, name), int)]
        for code in range(1, 17):
            name = raw.dlcore_status_name(code)
            self.assertIn(f"DLCORE_{name}", names)
            kind = getattr(dl, name.title().replace("_", ""))
            self.assertTrue(issubclass(kind, dl.Error))
            self.context.check(0)
            raw.dlcore_context_set_error(self.context._handle, code, f"text {code}")
            error = self.refused(kind, f"^text {code}$", self.context.check, code)
            self.assertEqual((error.code, error.op), (code, ""))
        self.assertEqual(dl.tensor([1.0]).item(), 1.0)  # nothing sticks

    def test_texts(self):
        x = dl.tensor([[1.0, 2.0]])
        error = self.refused(dl.InvalidArgument, r"^matmul: .*\[1, 2\]", lambda: x @ x)
        self.assertEqual(error.op, "matmul")
        self.refused(dl.InvalidArgument, r"^reshape: .*\[1, 2\].*\[3\]", x.reshape, [3])
        self.refused(dl.InvalidArgument, "^add: .*bool.*f32", lambda: dl.tensor([True]) + x)
        self.refused(dl.OutOfRange, "cross_entropy", nn.functional.cross_entropy, x, dl.tensor([7]))
        self.refused(dl.NotFound, "nowhere", nn.ReLU().load, "/nowhere/x.safetensors")
        self.refused(dl.InvalidArgument, "no dtype is called 'float'", x.astype, "float")
        self.refused(dl.FailedPrecondition, "history", dl.tensor(1.0).backward)

    def test_wrong_types(self):
        x = dl.tensor([1.0])
        for function in [lambda: x + "1", lambda: dl.add(x, [1.0]), lambda: x.sum(axes=1.5), lambda: dl.relu(object()),
                         lambda: nn.Linear("2", 1), lambda: nn.Sequential(nn.ReLU(), None).release(),
                         lambda: raw.dlcore_tensor_dtype(self.context._handle), lambda: raw.dlcore_backward(1, 2)]:
            with self.assertRaises((TypeError, AttributeError)):
                function()
        for function in [lambda: x + 2**64, lambda: x.reshape([2**64])]:
            with self.assertRaises(OverflowError):
                function()
        with self.assertRaises(ValueError):
            nn.ReLU().load("a\0b")

    def test_wrong_names_are_answered(self):
        with self.assertRaisesRegex(AttributeError, "no 'cat'; use 'concat'"):
            dl.cat
        self.assertFalse(hasattr(dl, "nothing_like_it"))
        self.assertFalse(hasattr(dl.tensor(1.0), "nothing_like_it"))

    def test_failed_construction(self):
        with self.assertRaises(dl.InvalidArgument):
            dl.Engine(threads=-1)
        with self.assertRaisesRegex(dl.NotFound, "abacus"):
            self.engine.context("abacus")

    def test_each_thread_has_a_context(self):
        found = []

        def work():
            found.append((dl.current(), dl.tensor([1.0, 2.0]).sum().item()))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([value for _, value in found], [3.0] * 4)
        self.assertEqual(len({id(context) for context, _ in found}), 4)
        self.assertIs(dl.current(), self.context)


class Raw(Case):
    """The generated layer below: it must hold no memory and no buffer, whatever it is given."""

    def test_arguments_leave_nothing(self):
        ctx, x, buffer = self.context._handle, dl.tensor([1.0, 2.0]), bytearray(8)
        calls = [
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle], [], -1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle], [], 1 << 40, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle], [], "1", 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle, 1], [], 1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle, ctx], [], 1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, 7, [], 1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle], [1, "a"], 1, 0),
            lambda: raw.dlcore_op_invoke(ctx, 35, [x._handle], [1 << 64], 1, 0),
            lambda: raw.dlcore_tensor_create(ctx, 9, [1], "text"),
            lambda: raw.dlcore_tensor_create(ctx, 9, [1 << 64], buffer),
            lambda: raw.dlcore_tensor_read(ctx, x._handle, 9, bytes(8)),
            lambda: raw.dlcore_tensor_read(ctx, x._handle, "f32", buffer),
            lambda: raw.dlcore_context_open(self.engine._handle, "cpu", -1, 0),
        ]
        for turn in range(1001):
            for index, function in enumerate(calls):
                with self.subTest(index), self.assertRaises((TypeError, ValueError, OverflowError, BufferError)):
                    function()
            raw.dlcore_op_invoke(ctx, 35, [None], [], 1, 0)
            self.refused(dl.InvalidArgument, "relu", self.context.check_ok)
            self.assertEqual(raw.dlcore_tensor_read(ctx, x._handle, 9, buffer), 0)
            buffer.append(0)  # a BufferError while somebody holds it
            del buffer[8:]
            if turn == 0:
                tracemalloc.start()
            elif turn == 100:
                before = tracemalloc.get_traced_memory()[0]
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        self.assertLess(grown, 20_000)  # a word for each call would be 100,000 and more

    def test_records_know_their_size(self):
        x, description = dl.full([2, 3], 1.0), raw.dlcore_tensor_description()
        self.assertEqual(raw.dlcore_tensor_describe(self.context._handle, x._handle, description), 0)
        self.assertEqual((description.shape[:3], description.device), ([2, 3, 0], "cpu"))
        self.assertEqual(description.dtype, raw.DLCORE_F32)

    def test_everything_is_there(self):
        """All functions of the headers, but those that the interface says it leaves out."""
        interface = (ROOT / "bindings/python/generated/dlcore.i").read_text(encoding="utf-8")
        left_out = set(re.findall(r"^%ignore (\w+);", interface, re.MULTILINE))
        functions = {function["name"] for function in json.loads((ROOT / "capi/api.json").read_text())["functions"]}
        self.assertEqual(functions - set(dir(raw)), left_out)
        catalogue = json.loads(raw.dlcore_catalogue_json()[0])
        self.assertLessEqual({op["name"] for op in catalogue["ops"] if not op["hidden"]}, set(dir(dl)))
        self.assertLessEqual({layer["name"] for layer in catalogue["layers"]}, set(dir(nn)))
        self.assertLessEqual({optimizer["name"] for optimizer in catalogue["optimizers"]}, set(dir(optim)))


class Conversion(Case):
    def test_lists(self):
        for dtype in DTYPES:
            for values in (1, [], [1, 0], [[1], [0]], [[[1, 0, 1]], [[0, 0, 1]]]):
                x = dl.tensor(values, dtype)
                with self.subTest(dtype=dtype, values=values):
                    self.assertEqual((x.dtype, x.tolist()), (dtype, values))
        self.assertEqual(dl.tensor([1.5, -2.0], "bf16").tolist(), [1.5, -2.0])

    def test_empty_shapes(self):
        for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), ()):
            self.assertEqual(dl.full(shape, 1.0).shape, shape)
        self.assertEqual(dl.full((3, 0), 1.0).tolist(), [[], [], []])
        self.assertEqual(dl.full((2, 0, 3), 1.0).tolist(), [[], []])

    def test_default_dtypes(self):
        for values, dtype in ((True, "bool"), (1, "i64"), (1.0, "f32"), ([True, 2], "i64"), ([1, 2.0], "f32")):
            self.assertEqual(dl.tensor(values).dtype, dtype)

    def test_out_of_range(self):
        for dtype, value in (("u8", -1), ("u8", 256), ("i8", 128), ("i64", 2**63), ("i32", 1.5), ("f16", 1e6)):
            with self.subTest(dtype=dtype):
                self.refused(dl.InvalidArgument, f"does not fit {dtype}", dl.tensor, [value], dtype)

    def test_views_are_read_in_row_major_order(self):
        x = dl.arange(0, 12).reshape([3, 4])
        self.assertEqual(x.slice([1], [3], axes=[1]).tolist(), [[1, 2], [5, 6], [9, 10]])
        self.assertEqual(x.permute_dims([1, 0]).tolist()[1], [1, 5, 9])

    def test_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        for dtype, name in zip(DTYPES, ["bool", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]):
            for shape in ((), (0,), (2, 0), (6,), (2, 3)):
                array = numpy.arange(math.prod(shape)).reshape(shape).astype(name)
                for given in (array, array[..., ::-1] if shape else array, array.T):
                    x = dl.tensor(given)
                    self.assertEqual((x.dtype, x.shape), (dtype, given.shape))
                    back = x.numpy()
                    self.assertEqual((back.dtype, back.shape), (given.dtype, given.shape))
                    self.assertTrue((back == given).all())
        self.refused(dl.InvalidArgument, "format", dl.tensor, numpy.zeros(2, "c8"))

    def test_numpy_is_not_needed(self):
        program = "import sys; sys.modules['numpy'] = None; import dlcore as dl; print((dl.tensor([1.]) * 3).tolist())"
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, "[3.0]\n")

    def test_numbers_are_weak(self):
        for dtype in ("i8", "i64", "f32", "f64"):
            self.assertEqual((dl.tensor([1], dtype) * 2).dtype, dtype)
        x = dl.tensor([4.0])
        self.assertEqual([(x - 1).item(), (1 - x).item(), (x / 2).item(), (2 / x).item(), (2**x).item(), (-x).item()],
                         [3.0, -3.0, 2.0, 0.5, 16.0, -4.0])
        found = [bool(value) for value in (x == 4, x != 4, x < 5, x >= 5, 5 > x)]
        self.assertEqual(found, [True, False, True, False, True])

    def test_options(self):
        x = dl.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(x.sum(axes=0, keepdims=True).tolist(), [[4.0, 6.0]])
        self.assertEqual(x.argmax(axis=1).tolist(), [1, 1])
        self.assertEqual(x.clip(max=2.0).tolist(), [[1.0, 2.0], [2.0, 2.0]])
        self.assertEqual(dl.concat([x, x], 1).shape, (2, 4))
        self.assertEqual(dl.full([2], 3.0, dtype="i32").tolist(), [3, 3])
        self.assertEqual(dl.layer_norm(x).shape, (2, 2))
        self.refused(dl.InvalidArgument, "approximate", x.gelu, approximate="nearly")

    def test_repr(self):
        self.assertRegex(repr(dl.tensor([1.0])), r"^tensor f32 \[1\]")


class Training(Case):
    def test_gradients(self):
        layer = nn.Linear(2, 1, bias=False, init="zeros")
        (weight,) = layer.parameters()
        self.assertIsNone(weight.gradient)
        layer(dl.tensor([[3.0, 4.0]])).sum().backward()
        self.assertEqual(weight.gradient.tolist(), [[3.0, 4.0]])
        optim.SGD([weight], lr=0.5).step()
        self.assertEqual(weight.value.tolist(), [[-1.5, -2.0]])
        self.assertIsNone(weight.gradient)

    def test_inference(self):
        layer = nn.Linear(2, 1)
        with dl.inference():
            y = layer(dl.tensor([[3.0, 4.0]])).sum()
        self.refused(dl.FailedPrecondition, "history", y.backward)
        layer(dl.tensor([[3.0, 4.0]])).sum().backward()

    def test_save_and_load(self):
        model, copy = (nn.Sequential(nn.Linear(3, 2), nn.ReLU()) for _ in range(2))
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "größe 🙂.safetensors"
            model.save(path)
            copy.load(path)
        x = dl.random_normal([4, 3])
        self.assertEqual(model(x).tolist(), copy(x).tolist())

    def test_snapshot(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        frozen, x = model.snapshot(), dl.random_normal([4, 3])
        before, answers = frozen(x).tolist(), []
        sgd = optim.SGD(model.parameters(), lr=1.0)
        model(x).sum().backward()
        sgd.step()
        self.assertEqual(frozen(x).tolist(), before)
        self.assertEqual(frozen.parameters(), [])
        self.refused(dl.FailedPrecondition, "history", frozen(x).sum().backward)
        values = x.tolist()

        def serve():
            with self.engine.context():
                answers.append(frozen(dl.tensor(values)).tolist())

        threads = [threading.Thread(target=serve) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [before] * 4)

    def test_checkpoint(self):
        def start(prefetch):
            model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 2))
            adam = optim.Adam(model.parameters(), lr=0.1)
            samples, labels = dl.arange(0, 30).reshape([10, 3]).astype("f32"), dl.arange(0, 10) * 0
            loader = data.from_tensors(samples, labels).batch(4, shuffle=True, prefetch=prefetch)
            return model, adam, loader, dl.Checkpoint(model=model, adam=adam, data=loader)

        def epoch(model, adam, loader):
            losses = []
            for x, y in loader:
                loss = dl.cross_entropy(model(x), y)
                loss.backward()
                adam.step()
                losses.append((loss.tolist(), x.tolist()))
            return losses

        *one, saved = start(0)
        epoch(*one)
        saved["epochs"] = "1"
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "training.safetensors"
            saved.save(path)
            straight = epoch(*one)
            dl.manual_seed(7)
            *two, loaded = start(2)
            loaded.load(path)
            self.refused(dl.InvalidArgument, "does not fit", dl.Checkpoint(model=nn.Linear(2, 2)).load, path)
        self.assertEqual(loaded["epochs"], "1")
        self.assertRaises(KeyError, lambda: loaded["none"])
        self.assertRaises(TypeError, loaded.add, "x", 3)
        self.assertEqual(epoch(*two), straight)

    def test_epochs(self):
        loader = data.from_tensors(dl.arange(0, 5).reshape([5, 1]), dl.arange(0, 5)).batch(2, prefetch=1)
        self.assertEqual((len(loader), loader.samples), (3, 5))
        for _ in loader:
            break  # the next loop starts anew
        for _ in range(2):
            self.assertEqual([y.tolist() for _, y in loader], [[0, 1], [2, 3], [4]])

    def test_seed(self):
        draws = []
        for _ in range(2):
            dl.manual_seed(42)
            draws.append((dl.random_uniform([3]).tolist(), nn.Linear(2, 2).parameters()[0].trainable))
        self.assertEqual(draws[0], draws[1])

    def losses(self, *command):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([*command, "--limit", "30", "--threads", "2", "--losses", "losses"], cwd=directory,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            accuracy = [line for line in done.stdout.splitlines() if line.startswith("accuracy ")]
            return (Path(directory) / "losses").read_bytes(), accuracy

    def test_numbers_are_those_of_c(self):
        program = BUILD / "examples/fashion_mnist/c/train"
        if not program.exists():
            self.skipTest("built without examples")
        script = ROOT / "examples/fashion_mnist/python/train.py"
        losses, accuracy = self.losses(program)
        self.assertEqual(losses.count(b"\n"), 30)
        self.assertEqual(self.losses(sys.executable, script), (losses, accuracy))


if __name__ == "__main__":
    unittest.main()
