#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transforms of functions, alone and inside each other, against formulas."""

import dlcore as dl
import numpy as np
from dlcore import nn
from support import Case, main

POINT = np.array([0.5, 1.0, -2.0])


class Autograd(Case):
    def setUp(self):
        super().setUp()
        self.x = dl.tensor(POINT)

    def tearDown(self):
        del self.x
        super().tearDown()

    def test_grad(self):
        value, gradient = dl.value_and_grad(lambda x: (dl.sin(x) * x).sum())(self.x)
        self.close_to(value, (np.sin(POINT) * POINT).sum())
        self.close_to(gradient, np.sin(POINT) + POINT * np.cos(POINT))
        self.assertFalse(gradient.requires_grad or value.requires_grad)

    def test_arguments(self):
        def function(pair, scale, power=2):
            return (pair["a"] * pair["b"][0] * scale).sum() ** power

        a, b = self.x, self.x + 1
        gradient = dl.grad(function)({"a": a, "b": [b]}, 3.0, power=1)
        self.close_to(gradient["a"], 3 * (POINT + 1))
        self.close_to(gradient["b"][0], 3 * POINT)
        first, second = dl.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(a, b)
        self.close_to(first, POINT + 1)
        self.close_to(second, POINT)
        gradient, aux = dl.grad(lambda x: ((x * x).sum(), "aux"), has_aux=True)(a)
        self.assertEqual(aux, "aux")
        self.close_to(dl.grad(lambda x, y: y.sum() * 1.0)(a, b), np.zeros(3))  # without influence
        self.close_to(dl.grad(lambda x: dl.tensor(1.0, "f64"))(a), np.zeros(3))
        self.refused(dl.InvalidArgument, "no tensor", dl.grad(lambda x: x), 1.0)
        self.refused(dl.InvalidArgument, "returned float", dl.grad(lambda x: 1.0), a)

    def test_in_no_grad(self):
        with dl.inference():
            self.close_to(dl.grad(lambda x: (x * x).sum())(self.x), 2 * POINT)
            self.assertFalse(self.context.recording or self.context.training)

    def test_second_order(self):
        def cubes(x):
            return (x * x * x).sum()

        second = dl.grad(lambda x: dl.grad(cubes)(x).sum())(self.x)
        self.close_to(second, 6 * POINT)
        self.close_to(dl.hessian(cubes)(self.x), np.diag(6 * POINT))
        self.close_to(dl.jvp(dl.grad(cubes), (self.x,), (self.x,))[1], 6 * POINT**2)
        self.close_to(dl.grad(lambda x: dl.jvp(cubes, (x,), (x,))[1])(self.x), 9 * POINT**2)
        self.close_to(dl.vmap(dl.grad(lambda x: x * x * x))(self.x), 3 * POINT**2)

    def test_whose_derivative(self):
        """An inner derivative does not take the outer variable for its own."""
        one = dl.tensor(1.0)
        self.assertEqual(dl.grad(lambda x: x * dl.grad(lambda y: x + y)(x))(one).item(), 1.0)
        self.assertEqual(dl.grad(lambda x: x * dl.jvp(lambda y: x + y, (one,), (one,))[1])(one).item(), 1.0)
        watched = self.x.watch()
        outer = dl.grad(lambda y: (y * watched).sum())(self.x)
        self.close_to(outer, POINT)

    def test_jvp_and_vjp(self):
        value, rate = dl.jvp(lambda x, y: x * y, (self.x, self.x + 1), (dl.full([3], 1.0, dtype="f64"), self.x))
        self.close_to(rate, POINT + 1 + POINT * POINT)
        result, pullback = dl.vjp(lambda x, y: {"a": x * y, "b": x}, self.x, self.x + 1)
        for _ in range(2):
            first, second = pullback({"a": self.x, "b": self.x})
            self.close_to(first, POINT * (POINT + 1) + POINT)
            self.close_to(second, POINT * POINT)
        self.refused(dl.InvalidArgument, "1 tangents, expected 2", dl.jvp, lambda x, y: x, (self.x, self.x), (self.x,))
        self.refused(dl.InvalidArgument, "tangent", dl.jvp, lambda x: x, (self.x,), (dl.tensor([1.0]),))

    def test_jacobian(self):
        matrix = dl.tensor(np.arange(6.0).reshape(2, 3))
        self.close_to(dl.jacobian(lambda x: matrix @ x)(self.x), np.arange(6.0).reshape(2, 3))
        self.assertEqual(dl.jacobian(lambda x: x.reshape([3, 1]))(self.x.reshape([1, 3])).shape, (3, 1, 1, 3))

    def test_vmap(self):
        rows = np.arange(12.0).reshape(4, 3)
        x = dl.tensor(rows)
        self.close_to(dl.vmap(lambda r: (r * r).sum())(x), (rows**2).sum(1))
        self.close_to(dl.vmap(lambda r, y: r * y, in_axes=(0, None))(x, self.x), rows * POINT)
        self.close_to(dl.vmap(lambda c: c * 2, in_axes=1, out_axes=1)(x), rows * 2)
        self.close_to(dl.vmap(lambda r: {"a": r, "b": (r.max(),)}, in_axes=0)(x)["b"][0], rows.max(1))
        self.close_to(dl.vmap(dl.vmap(lambda a: a * a))(x), rows**2)
        self.refused(dl.InvalidArgument, r"numbers of examples are \[3, 4\]", dl.vmap(lambda a, b: a), x, self.x)
        self.refused(dl.InvalidArgument, "axis is 2", dl.vmap(lambda a: a, in_axes=2), x)
        self.refused(dl.InvalidArgument, "1 entries, expected 2", dl.vmap(lambda a, b: a, in_axes=(0,)), x, x)

    def test_failures_inside_close_the_level(self):
        for transform in (lambda f: dl.vmap(f)(self.x), lambda f: dl.jvp(f, (self.x,), (self.x,)), lambda f: dl.grad(f)(self.x)):
            with self.assertRaises(ZeroDivisionError):
                transform(lambda x: 1 / 0)
            self.close_to(dl.vmap(lambda x: x + 1)(self.x), POINT + 1)

    def test_gradients(self):
        x = self.x.watch()
        y = x * x
        (first,) = dl.gradients(y, [x], [self.x], create_graph=True)
        self.close_to(first, 2 * POINT**2)
        (second,) = dl.gradients(first.sum(), [x])
        self.close_to(second, 2 * POINT)
        self.assertEqual(dl.gradients((x * 1).sum(), [x, self.x.watch()], allow_unused=True)[1], None)
        self.refused(dl.InvalidArgument, "lists differ in length", dl.gradients, y, [x], [self.x, self.x])
        self.refused(dl.FailedPrecondition, "no output depends", dl.gradients, self.x.sum(), [x])

    def test_gradcheck(self):
        dl.gradcheck(lambda x, y: (x * y).sin(), self.x, self.x, order=2)
        wrong = dl.custom_op("wrong_square", backward=lambda g, x, y: g * x)(lambda x: x * x)
        self.refused(dl.FailedPrecondition, "input 0", dl.gradcheck, lambda x: wrong(x).sum(), self.x)
        error = self.refused(dl.Unknown, "division by zero", dl.gradcheck, lambda x: 1 / 0, self.x)
        self.assertIsInstance(error.__cause__.__cause__, ZeroDivisionError)
        self.refused(dl.Unknown, "returned int, expected a Tensor", dl.gradcheck, lambda x: 3, self.x)
        del error, wrong
        self.before = {**self.before}  # ops stay with the engine

    def test_variables(self):
        layer = nn.Linear(3, 1, bias=False)
        (weight,) = layer.parameters()
        value = weight.value
        (gradient,) = dl.gradients(layer(self.x.astype("f32").reshape([1, 3])).sum(), [value])
        self.close_to(gradient, POINT.reshape(1, 3).astype("f4"))


if __name__ == "__main__":
    main()
