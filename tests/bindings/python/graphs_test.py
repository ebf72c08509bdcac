#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs and compiled functions: the bits of the eager calls."""

import dlcore as dl
from dlcore import nn, optim
from support import Case, main


class Graphs(Case):
    def setUp(self):
        super().setUp()
        self.x = dl.random_normal([8, 4])

    def tearDown(self):
        del self.x
        super().tearDown()

    def test_text(self):
        graph, rebuild = dl.capture(lambda x: {"y": (x * 2 + 1).sum(), "z": (x,)}, "f32 [B, 3]", name="größe 1")
        again = dl.Graph.parse(str(graph))
        self.assertEqual(str(again), str(graph))
        self.assertIn("f32[B, 3]", str(graph))
        self.assertEqual(len(graph.apply("cse").apply("dce")), len(again))
        again.verify()
        for rows in (1, 5):
            result = rebuild(graph.compile().run([dl.full([rows, 3], 1.0)], 2))
            self.assertEqual((result["y"].item(), result["z"][0].shape), (9.0 * rows, (rows, 3)))
        self.refused(dl.InvalidArgument, "line 1", dl.Graph.parse, "no graph")
        self.refused(dl.NotFound, "cse", graph.apply, "magic")
        self.refused(dl.InvalidArgument, "expected a Tensor or a text", dl.capture, lambda x: x, 3)

    def test_state_is_bound_by_name(self):
        layer, other = nn.Linear(4, 2), nn.Linear(4, 2)
        graph, _ = dl.capture(lambda x: layer(x), self.x)
        self.assertEqual(graph.compile().run([self.x], 1)[0].tolist(), layer(self.x).tolist())
        self.assertEqual(graph.compile(other.variables()).run([self.x], 1)[0].tolist(), other(self.x).tolist())

    def test_a_failed_capture_leaves_nothing(self):
        for function in (lambda x: 1 / 0, lambda x: x.tolist(), lambda x: x + self.x, lambda x: x.reshape([3])):
            with self.assertRaises((ZeroDivisionError, dl.Error)):
                dl.capture(function, self.x)
        graph, _ = dl.capture(lambda x: x + dl.constant(self.x), self.x)
        self.assertEqual(graph.compile().run([self.x], 1)[0].tolist(), (self.x * 2).tolist())

    def test_symbols_in_python(self):
        seen = []
        dl.capture(lambda x: seen.append((x.shape, x.size, x.is_symbolic, repr(x), x._repr_html_())) or x, "f32 [B, 3]")
        self.assertEqual(seen[0][:3], ((-1, 3), -1, True))
        self.assertIn("symbolic", seen[0][3] + seen[0][4])

    def trained(self, wrap):
        with self.engine.context(seed=3) as context:
            return self.losses(self.x.on(context), wrap)

    def losses(self, samples, wrap):
        model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.3), nn.Linear(3, 2))
        adam = optim.Adam(model.parameters(), lr=0.1)

        def step(x, y, *, scale):
            loss = nn.functional.cross_entropy(model(x["x"]), y) * scale
            loss.backward()
            adam.step()
            return loss, {"twice": loss * 2}

        step, losses = wrap(step), []
        for rows in (8, 8, 5, 8):
            loss, more = step({"x": samples[:rows]}, dl.arange(0, rows) % 2, scale=1.5)
            losses.append((loss.tolist(), more["twice"].tolist()))
        return losses, model.eval()(samples).tolist(), step

    def test_compiled_steps_have_the_bits_of_eager_ones(self):
        *eager, _ = self.trained(lambda function: function)
        *compiled, step = self.trained(dl.compile)
        self.assertEqual(compiled, eager)
        self.assertEqual(step.explain().count("a graph of"), 2)  # one for each number of rows
        self.assertEqual((step.__name__, isinstance(step, dl.Compiled)), ("step", True))

    def test_signatures(self):
        calls = []

        @dl.compile
        def function(x, power):
            calls.append(1)
            return x**power

        self.assertEqual(function.explain(), "not called yet")
        for arguments in ((self.x, 2.0), (self.x, 2.0), (self.x, 3.0), (self.x.astype("f64"), 2.0), (self.x[:4], 2.0)):
            self.assertEqual(function(*arguments).tolist(), (arguments[0] ** arguments[1]).tolist())
        self.assertEqual(len(calls), 4)
        with dl.inference():
            function(self.x, 2.0)
        self.assertEqual(len(calls), 5)
        with self.assertRaisesRegex(TypeError, "cannot be told"):
            function(self.x, {1, 2})

    def test_falls_back(self):
        @dl.compile
        def function(x):
            return x * 2 if x.sum().item() > 0 else x

        with self.assertLogs("dlcore.compile", "WARNING") as logs:
            for _ in range(2):
                self.assertEqual(function(self.x * 0 + 1).tolist(), (self.x * 0 + 2).tolist())
        self.assertEqual(len(logs.output), 1)
        self.assertIn("op 'sum'", logs.output[0])
        self.assertIn("runs eagerly", function.explain())

        @dl.compile
        def failing(x):
            raise RuntimeError("the function's own")

        with self.assertRaisesRegex(RuntimeError, "own"):
            failing(self.x)

    def test_nested(self):
        inner = dl.compile(lambda x: x * 2)
        outer = dl.compile(lambda x: inner(x) + 1)
        self.assertEqual(outer(self.x).tolist(), (self.x * 2 + 1).tolist())
        self.assertIn("graph", outer.explain())


if __name__ == "__main__":
    main()
