#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Layers, models written in Python, their state, snapshots and pickles."""

import copy
import io
import pickle
import tempfile
import threading
from pathlib import Path

import dlcore as dl
from dlcore import nn, optim
from support import Case, live, main


class Residual(nn.Module):
    """Of this module, so that it can be pickled."""

    def __init__(self, features):
        super().__init__()
        self.features = features
        self.inner = nn.Linear(features, features)
        self.scale = nn.Variable("scale", dl.full([features], 0.5))
        self.blocks = [nn.Linear(features, features), nn.Tanh()]

    def forward(self, x, times=1):
        for _ in range(times):
            for block in self.blocks:
                x = block(x)
        return x + self.inner(x).relu() * self.scale.value


class Twice(Residual):
    def forward(self, x):
        return super().forward(x, times=2)


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError("no way 🙂")


class Modules(Case):
    def setUp(self):
        super().setUp()
        self.x = dl.random_normal([4, 3])

    def tearDown(self):
        del self.x
        super().tearDown()

    def test_structure(self):
        model = nn.Sequential(nn.Linear(3, 2), nn.Sequential(nn.ReLU(), nn.BatchNorm(2)))
        self.assertEqual([kind.kind for kind in model], ["Linear", "Sequential"])
        self.assertEqual((len(model), model[1][1].kind, bool(nn.ReLU())), (2, "BatchNorm", True))
        self.assertEqual([name.split(".")[-1] for name in model.named_variables()][:2], ["weight", "bias"])
        self.assertEqual(len(model.parameters()), 4)
        self.assertEqual(len(model.variables()), 6)  # with running statistics
        self.assertEqual(model.variable("0.weight").value.shape, (2, 3))
        self.refused(dl.NotFound, "0.weight", model.variable, "0.height")
        self.refused(dl.InvalidArgument, "without a parent", nn.Sequential, model[0])

    def test_state(self):
        model, other = nn.Linear(3, 2), nn.Linear(3, 2)
        other.load_state(model.state())
        self.assertEqual(model(self.x).tolist(), other(self.x).tolist())
        self.assertFalse(any(value.requires_grad for value in model.state().values()))
        with self.assertRaisesRegex(KeyError, "expected"):
            model.load_state({"weight": dl.tensor(1.0)})

    def test_save_and_load(self):
        model, other = (nn.Sequential(nn.Linear(3, 2), nn.ReLU()) for _ in range(2))
        expected = model(self.x).tolist()
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "größe 🙂.safetensors"
            model.save(path)
            for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes()), memoryview(path.read_bytes())):
                other = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
                other.load(source)
                self.assertEqual(other(self.x).tolist(), expected)
            with open(path, "rb") as file:
                other.load(file)
            with open(path, "wb") as file:
                other.save(file)
            other.load(path)
        self.assertEqual(model.to_bytes(), other.to_bytes())
        self.refused(dl.DataLoss, "", other.load, model.to_bytes()[:-1])

    def test_streams_that_fail(self):
        class Broken:
            def write(self, data):
                raise OSError("disk full")

            def read(self, size):
                raise OSError("gone")

        class Talkative:
            def read(self, size):
                return b"x" * (size + 1)

        class Strange:
            def read(self, size):
                return "text"

        model = nn.Linear(1, 1)
        with self.assertRaisesRegex(OSError, "disk full"):
            model.save(Broken())
        with self.assertRaisesRegex(OSError, "gone"):
            model.load(Broken())
        with self.assertRaisesRegex(ValueError, "expected at most"):
            model.load(Talkative())
        with self.assertRaises(TypeError):
            model.load(Strange())
        self.refused(dl.DataLoss, "", model.load, io.BytesIO(b"nothing"))
        model.load(io.BytesIO(model.to_bytes()))

    def test_snapshot(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), Residual(4), nn.Linear(4, 2))
        frozen, x = model.snapshot(), self.x
        before, answers = frozen(x).tolist(), []
        sgd = optim.SGD(model.parameters(), lr=1.0)
        model(x).sum().backward()
        sgd.step()
        self.assertEqual(frozen(x).tolist(), before)
        self.assertNotEqual(model.snapshot()(x).tolist(), before)
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
        del model, sgd
        self.assertEqual(frozen(x).tolist(), before)  # the snapshot keeps what it needs

    def test_custom(self):
        module = Residual(3)
        self.assertEqual(list(module.named_variables()),
                         ["scale", "inner.weight", "inner.bias", "blocks_0.weight", "blocks_0.bias"])
        direct = module(self.x).tolist()
        model = nn.Sequential(Twice(3), nn.Linear(3, 2))
        self.assertEqual(model(self.x).shape, (4, 2))
        wrapped = nn.Sequential(Residual(3))
        wrapped.load_state({f"0.{path}": value for path, value in module.state().items()})
        self.assertEqual(wrapped(self.x).tolist(), direct)  # called by the engine, the same bits
        self.assertEqual(module(self.x, times=3).shape, (4, 3))
        self.assertEqual((module.kind, repr(wrapped[0])[:9], wrapped[0].features), ("Residual", "Residual(", 3))

    def test_custom_trains(self):
        model = nn.Sequential(Residual(3), nn.Linear(3, 1))
        adam = optim.Adam(model.parameters(), lr=0.05)
        losses = []
        for _ in range(30):
            loss = nn.functional.mse_loss(model(self.x), self.x.sum(axes=1, keepdims=True))
            loss.backward()
            adam.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 2)
        step = dl.compile(lambda x: model(x))
        self.assertEqual(step(self.x).tolist(), model(self.x).tolist())
        self.assertIn("graph", step.explain())

    def test_custom_fails(self):
        error = self.refused(dl.Unknown, "Failing.*ValueError: no way 🙂", nn.Sequential(Failing()), self.x)
        self.assertEqual(repr(error.__cause__.__cause__), "ValueError('no way 🙂')")
        with self.assertRaisesRegex(ValueError, "no way"):
            Failing()(self.x)
        module = Residual(3)
        self.refused(dl.FailedPrecondition, "fixed then", setattr, module, "late", nn.ReLU())
        module.note = "attributes that are no parts may change"

        class Interrupted(nn.Module):
            def forward(self, x):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            nn.Sequential(Interrupted())(self.x)

        class Forgetful(nn.Module):
            def forward(self, x):
                return None

        with self.assertRaisesRegex(dl.Error, "Forgetful"):
            nn.Sequential(Forgetful())(self.x)
        del error, module

    def test_custom_modules_go(self):
        before = live(self.engine)
        for _ in range(20):
            model = nn.Sequential(Residual(3), nn.Linear(3, 1))
            model.snapshot()(self.x)
        del model
        self.assertEqual(live(self.engine), before)

    def test_pickle(self):
        for model in (nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 2), nn.ReLU()), Residual(3), nn.Sequential(Twice(3), nn.Linear(3, 2))):
            expected = model(self.x).tolist()
            for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
                self.assertIs(type(again), type(model))
                self.assertEqual(again(self.x).tolist(), expected)
        with self.assertRaisesRegex(TypeError, "snapshot"):
            pickle.dumps(nn.Linear(3, 2).snapshot())

    def test_modes(self):
        dropout = nn.Dropout(0.5)
        self.assertNotEqual(dropout(self.x).tolist(), self.x.tolist())
        self.assertEqual(dropout.eval()(self.x).tolist(), self.x.tolist())
        dropout.train()
        with dl.inference():
            self.assertEqual(dropout(self.x).tolist(), self.x.tolist())

    def test_variables(self):
        variable = nn.Variable("w", dl.tensor([1.0, 2.0]))
        variable.assign(variable.value * 2)
        variable.accumulate(dl.tensor([1.0, 1.0]))
        self.assertEqual(variable.value.tolist(), [3.0, 5.0])
        self.assertIsNone(variable.gradient)
        variable.gradient = dl.tensor([1.0, 0.0])
        self.assertEqual(variable.gradient.tolist(), [1.0, 0.0])
        variable.gradient = None
        variable.trainable = False
        self.assertFalse(variable.trainable or variable.value.requires_grad)
        self.refused(dl.InvalidArgument, "w", variable.assign, dl.tensor([1.0]))
        self.assertEqual(repr(variable), "<variable w>")


if __name__ == "__main__":
    main()
