#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lifetimes: what is made is given back once, and what has been given back is refused."""

import copy
import gc
import math
import pickle
import sys
import threading
import weakref

import dlcore as dl
from dlcore import data, nn, optim
from dlcore import _dlcore as raw
from support import Case, live, main


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
        for _ in range(3000):
            self.step(model, optimizer, x, y)
        self.assertEqual(live(self.engine), before)

    def test_failing_calls_leave_nothing(self):
        x, model = dl.tensor([1.0, 2.0]), nn.Linear(3, 2)
        failing = [
            lambda: x.reshape([3]), lambda: x + dl.tensor([1.0, 2.0, 3.0]), lambda: model(x), lambda: x.backward(),
            lambda: nn.Linear(-1, 2), lambda: optim.Adam(model.parameters(), lr=math.nan), lambda: x.astype("f31"),
            lambda: dl.tensor([[1.0], [1.0, 2.0]]), lambda: data.source("nowhere:x").batch(1),
            lambda: dl.concat([x, x], 5), lambda: x[5], lambda: dl.jvp(lambda a: a.reshape([3]), (x,), (x,)),
            lambda: dl.vmap(lambda a: a.reshape([3]))(x), lambda: dl.grad(lambda a: a * 1)(x), lambda: dl.capture(lambda a: a[7], x),
        ]
        for turn in range(301):
            for function in failing:
                with self.assertRaises(dl.Error):
                    function()
            if turn == 0:
                before = live(self.engine)
        self.assertEqual(live(self.engine), before)

    def test_wrong_arguments_leave_nothing(self):
        x = dl.tensor([1.0, 2.0])
        failing = [lambda: x + "a", lambda: dl.add(x), lambda: dl.add(x, x, x), lambda: x.sum(axis=1), lambda: dl.relu(x, x=x),
                   lambda: dl.concat([x, 1j]), lambda: dl.concat(3), lambda: x.sum(axes="a"), lambda: x.reshape([1.5]),
                   lambda: dl.concat([x] * 65), lambda: raw.op(self.context, 1, [x, None, "s"], [], 1),
                   lambda: x.reshape([2**64]), lambda: x + 2**64, lambda: dl.full([1] * 300, 1.0)]
        for turn in range(301):
            for function in failing:
                with self.assertRaises((TypeError, ValueError, OverflowError)):
                    function()
            if turn == 0:
                before, counted = live(self.engine), sys.getrefcount(x)
        self.assertEqual((live(self.engine), sys.getrefcount(x)), (before, counted))

    def test_loaders_leave_nothing(self):
        loader = data.from_tensors(dl.tensor([[1.0], [2.0], [3.0]]), dl.tensor([0, 1, 2])).batch(2)
        before = live(self.engine)
        for turn in range(100):
            for x, y in loader:
                if turn % 2:
                    break
        del x, y
        self.assertEqual(live(self.engine), before)

    def handles(self):
        layer = nn.Linear(1, 1)
        graph, _ = dl.capture(lambda x: x * 2, "f32 [3]")
        sgd = optim.SGD(nn.Linear(1, 1).parameters())
        return [dl.tensor([1.0]), nn.ReLU(), layer.parameters()[0], sgd, optim.ExponentialLR(sgd, 0.9),
                data.from_tensors(dl.tensor([[1.0]]), dl.tensor([0])).batch(1), graph, graph.compile(),
                dl.Checkpoint(), self.engine.context(), dl.Engine(threads=1)]

    def test_release(self):
        for made in self.handles():
            with self.subTest(type(made).__name__):
                self.assertFalse(made.released)
                made.release()
                made.release()
                self.assertTrue(made.released)
                self.assertIn("released", repr(made).replace("closed", "released"))

    def test_use_after_release(self):
        x, layer = dl.tensor([1.0]), nn.ReLU()
        kept = layer(x)
        x.release()
        layer.release()
        for use in [lambda: x + 1, lambda: kept + x, x.item, lambda: x.shape, lambda: layer(kept), x.tolist, x.backward,
                    lambda: dl.stack([kept, x]), lambda: -x, lambda: nn.Sequential(layer), lambda: x.on(self.context),
                    lambda: memoryview(x), lambda: x.__dlpack__(), lambda: x[0], lambda: x == kept, lambda: len(x),
                    lambda: layer.snapshot(), lambda: layer.parameters()]:
            self.refused(dl.FailedPrecondition, "it has been released", use)
        self.assertEqual(kept.item(), 1.0)

    def test_methods_after_release(self):
        arguments = {"on": (self.context,), "assign": (dl.tensor(1.0),), "accumulate": (dl.tensor(1.0),), "save": ("x",),
                     "load": ("x",), "learning_rate_of": (0,), "seek": (0,), "variable": ("x",), "apply": ("cse",),
                     "run": ([], 1), "add": ("x", nn.ReLU()), "load_state": ({},), "load_plugin": ("x",), "manual_seed": (1,),
                     "clip_gradients": (1.0,), "base_rate_of": (0,)}
        for made in self.handles():
            made.release()
            for name in {name for name in dir(type(made)) if not name.startswith("_")} - {
                    "release", "close", "cancel", "deadline", "open", "adopt", "parse", "no_grad", "inference", "children",
                    "groups", "learning_rate", "gradient", "context", "trainable"}:
                method = getattr(type(made), name)
                if callable(method) and (isinstance(made, dl.Tensor) is False or name in ("item", "tolist", "numpy", "watch")):
                    with self.subTest(kind=type(made).__name__, method=name), self.assertRaises(dl.Error) as caught:
                        getattr(made, name)(*arguments.get(name, ()))
                    caught.exception.__traceback__ = None

    def test_close(self):
        context = self.engine.context()
        with context:
            x = dl.tensor([1.0])
        context.close()
        self.refused(dl.FailedPrecondition, "context: it has been released", lambda: x + 1)
        self.refused(dl.FailedPrecondition, "context: it has been released", x.tolist)
        self.assertEqual(x.on(self.context).tolist(), [1.0])
        x.release()

    def test_objects_outlive_their_engine(self):
        engine = dl.Engine(threads=2)
        context = engine.context()
        with context:
            x, layer = dl.tensor([1.0]), nn.Linear(1, 1)
            engine.close()
            self.refused(dl.FailedPrecondition, "engine", lambda: x + 1)
            self.refused(dl.FailedPrecondition, "engine", lambda: layer(x))
            engine.close()
        del x, layer, context, engine

    def test_parts_keep_their_whole(self):
        weight = nn.Sequential(nn.Linear(2, 1)).parameters()[0]
        gc.collect()
        self.assertEqual(weight.value.shape, (1, 2))
        self.assertEqual(weight.name, "0.weight")

    def test_weak_references(self):
        handles = self.handles()
        while handles:
            made = handles.pop()
            reference = weakref.ref(made)
            self.assertIs(reference(), made)
            del made
            self.assertIsNone(reference())

    def test_same_things(self):
        layer = nn.Linear(2, 2)
        one, two = layer.parameters()[0], layer.parameters()[0]
        self.assertTrue(one == two and hash(one) == hash(two) and one != layer.parameters()[1] and one != layer)
        kept = {one: 1}
        one.release()
        self.assertEqual(kept[one], 1)
        self.assertNotEqual(one, two)
        self.assertEqual(self.engine, dl.Engine.adopt(self.engine.address))
        with self.assertRaises(TypeError):
            one < two

    def test_what_cannot_be_pickled_says_so(self):
        for made in self.handles():
            with self.subTest(type(made).__name__):
                if isinstance(made, (dl.Tensor, nn.Module, dl.Variable, dl.Graph)):
                    self.assertFalse(pickle.loads(pickle.dumps(made)).released)
                else:
                    with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                        pickle.dumps(made)
                    with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                        copy.copy(made)

    def test_types_are_not_called(self):
        for kind in (dl.Tensor, raw.dlcore_module, raw.dlcore_graph):
            with self.assertRaises(TypeError):
                kind()
            with self.assertRaises(TypeError):
                kind.__new__(kind)
        with self.assertRaises(AttributeError):
            dl.tensor(1.0).anything = 1

    def test_close_during_a_call(self):
        """In each class of handles: the call ends well or with an error; what it needs stays until then."""
        a = dl.random_normal([300, 300])
        model = nn.Sequential(nn.Linear(300, 300), nn.Linear(300, 300))
        model(a)
        program = dl.capture(lambda x: x @ x @ x, a)[0].compile()
        for which in ("tensor", "module", "program", "context", "list"):
            context = self.engine.context()
            x = a.on(context)
            job, handle = {"tensor": (lambda: x @ x, x), "module": (lambda: model(x), model), "context": (lambda: x @ x, context),
                           "program": (lambda: program.run([x], 1), program), "list": (lambda: dl.concat([x] * 9), x)}[which]
            errors = self.until_error(job, handle.release)
            with self.subTest(which):
                self.assertEqual([type(error) for error in errors], [dl.FailedPrecondition])
                self.assertRegex(str(errors[0]), "released|context")
            del job, handle, x, context, errors

    def until_error(self, job, interfere):
        """Runs the job again and again on another thread, and meanwhile something else."""
        started, errors = threading.Event(), []

        def work():
            try:
                while True:
                    job()
                    started.set()
            except dl.Error as error:
                error.__traceback__ = None
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        interfere()
        thread.join()
        return errors


if __name__ == "__main__":
    main()
