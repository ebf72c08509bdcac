#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ops written in Python: eager, captured, differentiated, called by name, failing."""

import dlcore as dl
import numpy as np
from support import Case, live, main


def slope(gradient, x, y):
    return gradient * y * (1 - y)


@dl.custom_op("test_sigmoid", backward=slope)
def my_sigmoid(x):
    """1 / (1 + exp(-x))"""
    return 1 / (1 + dl.exp(-x))


def swap_back(gradients, a, b, outputs, shift):
    first, second = gradients
    return second, first * 2 if first is not None else None


@dl.custom_op("test_swap", n_inputs=2, n_outputs=2, n_attrs=1, infer=lambda a, b, shift: (b, (a.dtype, a.shape)), backward=swap_back)
def swap(a, b, shift):
    return b * 2 + shift, a


@dl.custom_op("test_numpy")
def by_numpy(x):
    return dl.tensor(np.sort(x.numpy()))


class Custom(Case):
    def setUp(self):
        super().setUp()
        self.x = dl.tensor([0.5, -1.0, 2.0], "f64")

    def tearDown(self):
        del self.x
        super().tearDown()

    def test_eager(self):
        self.close_to(my_sigmoid(self.x), self.x.sigmoid().numpy(copy=True))
        self.assertEqual(my_sigmoid.__doc__, "1 / (1 + exp(-x))")
        self.assertEqual(by_numpy(self.x).tolist(), [-1.0, 0.5, 2.0])
        first, second = swap(self.x, self.x.astype("f32"), attrs=[3])
        self.assertEqual((first.dtype, second.dtype, first.tolist()), ("f32", "f64", [4.0, 1.0, 7.0]))

    def test_derivatives(self):
        self.close_to(dl.grad(lambda x: my_sigmoid(x).sum())(self.x), dl.grad(lambda x: x.sigmoid().sum())(self.x))
        self.close_to(dl.hessian(lambda x: my_sigmoid(x).sum())(self.x), dl.hessian(lambda x: x.sigmoid().sum())(self.x))
        dl.gradcheck(my_sigmoid, self.x, order=2)
        a, b = dl.grad(lambda a, b: (swap(a, b, attrs=[1])[0]).sum(), argnums=(0, 1))(self.x, self.x)
        self.assertEqual((a.tolist(), b.tolist()), ([0.0] * 3, [2.0] * 3))
        self.refused(dl.FailedPrecondition, "history", lambda: by_numpy(self.x).sum().backward())

    def test_captured(self):
        step = dl.compile(lambda x: my_sigmoid(x) * 2)
        self.assertEqual(step(self.x).tolist(), (my_sigmoid(self.x) * 2).tolist())
        self.assertIn("graph", step.explain())
        graph, _ = dl.capture(my_sigmoid, "f64 [B]")
        self.assertIn("test_sigmoid", str(graph))
        self.assertEqual(graph.compile().run([self.x], 1)[0].tolist(), my_sigmoid(self.x).tolist())

    def test_by_name(self):
        my_sigmoid(self.x)
        self.assertEqual(dl.call("test_sigmoid", self.x).tolist(), my_sigmoid(self.x).tolist())
        self.assertEqual(dl.call("add", self.x, 1).tolist(), (self.x + 1).tolist())
        self.refused(dl.NotFound, "no 'test_sigmid'", dl.call, "test_sigmid", self.x)
        with dl.Engine.adopt(self.engine.address).context() as context:  # as another binding of the process has it
            self.assertEqual(dl.call("test_sigmoid", self.x.on(context)).tolist(), my_sigmoid(self.x).tolist())

    def test_each_engine_has_its_own(self):
        with dl.Engine(threads=1) as engine, engine.context():
            x = dl.tensor([0.0])
            self.refused(dl.NotFound, "test_sigmoid", dl.call, "test_sigmoid", x)
            self.assertEqual(my_sigmoid(x).tolist(), [0.5])
            again = dl.custom_op("test_sigmoid")(lambda x: x)
            self.refused(dl.AlreadyExists, "test_sigmoid", again, x)
            self.refused(dl.AlreadyExists, "built-in", dl.custom_op("add")(lambda x: x), x)

    def test_failures(self):
        def fails(*_):
            raise ValueError("no way 🙂")

        x = self.x.watch()
        for name, op in {
                "forward": dl.custom_op("test_fails")(fails), "infer": dl.custom_op("test_fails_to_infer", infer=fails)(lambda x: x),
                "backward": dl.custom_op("test_fails_back", backward=fails)(lambda x: x * 1)}.items():
            error = self.refused(dl.Unknown, f"{name}.*ValueError: no way 🙂", lambda: dl.gradients(op(x).sum(), [x]))
            self.assertIsInstance(error.__cause__, dl.Unknown)
            self.assertEqual(repr(error.__cause__.__cause__), "ValueError('no way 🙂')")
        del error
        inner = dl.custom_op("test_inner")(lambda x: x.reshape([7]))
        error = self.refused(dl.InvalidArgument, "test_inner.*reshape", inner, x)
        del error
        for op, text in [(dl.custom_op("test_none")(lambda x: None), "NoneType|None"), (dl.custom_op("test_two")(lambda x: (x, x)), "returned 2 values"),
                         (dl.custom_op("test_type")(lambda x: x.astype("f32")), "f32")]:
            with self.assertRaisesRegex(dl.Error, text):
                op(self.x)
        self.refused(dl.InvalidArgument, "2 inputs and 0 attributes", my_sigmoid, x, x)
        with self.assertRaises(KeyboardInterrupt):
            dl.custom_op("test_interrupt")(self.interrupt)(x)
        self.assertEqual(my_sigmoid(self.x).size, 3)

    def interrupt(self, x):
        raise KeyboardInterrupt

    def test_what_outlives_the_call_is_refused(self):
        kept = []
        op = dl.custom_op("test_keeps")(lambda x: kept.append(x) or x * 2)
        op(self.x)
        self.refused(dl.FailedPrecondition, "context: it has been released", lambda: kept[0] + 1)
        self.assertEqual(kept[0].on(self.context).tolist(), self.x.tolist())
        del kept[:]

    def test_calls_leave_nothing(self):
        for function in (lambda: my_sigmoid(self.x), lambda: dl.grad(lambda x: my_sigmoid(x).sum())(self.x)):
            function()
            before = live(self.engine)
            for _ in range(200):
                function()
            self.assertEqual(live(self.engine), before)


if __name__ == "__main__":
    main()
