#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training: gradients, optimizers, loaders, checkpoints, progress."""

import io
import tempfile
from pathlib import Path

import dlcore as dl
from dlcore import data, nn, optim
from support import Case, main


class Training(Case):
    def test_gradients(self):
        layer = nn.Linear(2, 1, bias=False, init="zeros")
        (weight,) = layer.parameters()
        self.assertIsNone(weight.gradient)
        layer(dl.tensor([[3.0, 4.0]])).sum().backward()
        self.assertEqual(weight.gradient.tolist(), [[3.0, 4.0]])
        sgd = optim.SGD([weight], lr=0.5)
        self.assertEqual(sgd.clip_gradients(100.0).item(), 5.0)
        sgd.step(keep_gradients=True)
        self.assertEqual(weight.value.tolist(), [[-1.5, -2.0]])
        self.assertEqual(weight.gradient.tolist(), [[3.0, 4.0]])
        sgd.zero_grad()
        self.assertIsNone(weight.gradient)
        self.refused(dl.FailedPrecondition, "gradient", sgd.step)

    def test_groups(self):
        first, second = nn.Linear(1, 1, init="zeros"), nn.Linear(1, 1, init="zeros")
        sgd = optim.SGD([{"params": first.parameters(), "lr": 0.5}, {"params": second.parameters()}], lr=0.25)
        (first(dl.tensor([[1.0]])) + second(dl.tensor([[1.0]]))).sum().backward()
        sgd.step()
        self.assertEqual((first.parameters()[0].value.item(), second.parameters()[0].value.item()), (-0.5, -0.25))
        self.assertEqual(sgd.learning_rate, 0.5)
        sgd.learning_rate = 1.0
        self.assertEqual(sgd.learning_rate, 1.0)
        self.assertTrue(all(sgd.learning_rate_of(group).value.item() == 1.0 for group in range(sgd.groups)))
        with self.assertRaisesRegex(TypeError, "rate"):
            optim.SGD([{"params": first.parameters(), "rate": 1.0}])

    def test_schedules(self):
        layer = nn.Linear(1, 1)
        sgd = optim.SGD([{"params": layer.parameters()[:1], "lr": 1.0}, {"params": layer.parameters()[1:]}], lr=0.5)
        schedule = optim.StepLR(sgd, 2, gamma=0.1)
        found = []
        for _ in range(5):
            layer(dl.tensor([[1.0]])).sum().backward()
            sgd.step()
            found.append(round(sgd.learning_rate_of(0).value.item(), 12))
            schedule.step()
        self.assertEqual(found, [1.0, 1.0, 0.1, 0.1, 0.01])
        self.assertEqual((schedule.kind, schedule.count.value.item(), schedule.base_rate_of(1).value.item()),
                         ("StepLR", 5, 0.5))
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "state"
            dl.Checkpoint(sgd=sgd, schedule=schedule).save(path)
            other = optim.SGD([{"params": nn.Linear(1, 1).parameters()[:1]}, {"params": nn.Linear(1, 1).parameters()[1:]}], lr=0.5)
            later = optim.StepLR(other, 2, gamma=0.1)
            dl.Checkpoint(sgd=other, schedule=later).load(path)
            self.assertEqual(later.count.value.item(), 5)
        step = dl.compile(lambda x: (schedule.step(), x * 1)[1])
        step(dl.tensor([1.0]))
        self.assertEqual((schedule.count.value.item(), "graph" in step.explain()), (6, True))
        self.refused(dl.InvalidArgument, "gamma", optim.ExponentialLR, sgd, float("nan"))

    def test_inference(self):
        layer = nn.Linear(2, 1)
        for mode in (dl.inference, dl.no_grad):
            with mode():
                y = layer(dl.tensor([[3.0, 4.0]])).sum()
            self.refused(dl.FailedPrecondition, "history", y.backward)
        layer(dl.tensor([[3.0, 4.0]])).sum().backward()

    def start(self, prefetch):
        model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 2))
        adam = optim.Adam(model.parameters(), lr=0.1)
        samples, labels = dl.arange(0, 30).reshape([10, 3]).astype("f32"), dl.arange(0, 10) * 0
        loader = data.from_tensors(samples, labels).batch(4, shuffle=True, prefetch=prefetch)
        return model, adam, loader, dl.Checkpoint(model=model, adam=adam, data=loader)

    def epoch(self, model, adam, loader, limit=100):
        losses = []
        for x, y in loader:
            loss = dl.cross_entropy(model(x), y)
            loss.backward()
            adam.step()
            losses.append((loss.tolist(), x.tolist()))
            if len(losses) == limit:
                break
        return losses

    def test_checkpoint(self):
        """Saved in the middle of an epoch, by a path and by streams."""
        *one, saved = self.start(0)
        self.epoch(*one)
        self.epoch(*one, limit=1)
        saved["epochs"] = "1 🙂"
        with tempfile.TemporaryDirectory() as directory:
            path, stream = Path(directory) / "training.safetensors", io.BytesIO()
            saved.save(path)
            saved.save(stream)
            straight = self.epoch(*one) + self.epoch(*one)
            for source in (path, path.read_bytes(), io.BytesIO(stream.getvalue())):
                dl.manual_seed(7)
                *two, loaded = self.start(2)
                loaded.load(source)
                self.assertEqual(loaded["epochs"], "1 🙂")
                self.assertEqual(two[-1].epoch, 1)
                self.assertEqual(self.epoch(*two) + self.epoch(*two), straight)
            self.refused(dl.InvalidArgument, "does not fit", dl.Checkpoint(model=nn.Linear(2, 2)).load, path)
        self.assertRaises(KeyError, lambda: loaded["none"])
        self.assertRaises(TypeError, loaded.add, "x", 3)
        self.refused(dl.AlreadyExists, "model", loaded.add, "model", nn.ReLU())

    def test_loops_go_on_where_they_stand(self):
        loader = data.from_tensors(dl.arange(0, 5).reshape([5, 1]), dl.arange(0, 5)).batch(2, prefetch=1)
        self.assertEqual((len(loader), loader.samples, loader.epoch), (3, 5, 0))
        for _, y in loader:
            self.assertEqual(y.tolist(), [0, 1])
            break
        self.assertEqual([y.tolist() for _, y in loader], [[2, 3], [4]])
        for epoch in range(1, 3):
            self.assertEqual([y.tolist() for _, y in loader], [[0, 1], [2, 3], [4]])
        loader.seek(7, 2)
        self.assertEqual((loader.epoch, [y.tolist() for _, y in loader]), (7, [[4]]))

    def test_sources(self):
        self.refused(dl.InvalidArgument, "nowhere", data.source("nowhere:x").batch, 1)
        data.set_directory("/no/such/directory 🙂")
        try:
            self.assertEqual(data.fashion_mnist("test").batch(1000).samples, 10000)
        except dl.NotFound as error:
            self.assertIn("🙂", str(error))
        data.set_directory(None)

    def test_seed(self):
        draws = []
        for _ in range(2):
            dl.manual_seed(42)
            draws.append((dl.random_uniform([3]).tolist(), nn.Linear(2, 2).parameters()[0].trainable))
        self.assertEqual(draws[0], draws[1])

    def test_progress(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        for file in (io.StringIO(), Terminal()):
            bar = dl.progress([1, 2, 3], "epoch 1", file=file)
            for item in bar:
                bar.note(loss=dl.tensor(0.25), n=item)
            self.assertRegex(file.getvalue(), r"epoch 1  loss 0.2500  n 3   \d+/s  \d+\.\d s\n$")
        with self.assertRaises(ZeroDivisionError):
            for _ in dl.progress(iter([1, 2]), file=file):
                1 / 0
        self.assertTrue(file.getvalue().endswith(" s\n"))
        shown = io.StringIO()
        self.assertEqual(list(dl.progress([], file=shown)), [])


if __name__ == "__main__":
    main()
