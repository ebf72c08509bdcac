#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Errors: their class, message, op and cause; and that they are taken at once."""

import pickle

import dlcore as dl
from dlcore import _dlcore as raw
from dlcore import nn
from support import Case, main


class Errors(Case):
    def test_a_class_for_each_code(self):
        for code in range(1, 17):
            name = raw.dlcore_status_name(code)
            self.assertEqual(getattr(raw, f"DLCORE_{name}"), code)
            kind = getattr(dl, name.title().replace("_", ""))
            self.assertTrue(issubclass(kind, dl.Error))
            error = self.refused(kind, f"^text {code} 🙂$", raw.dlcore_context_set_error, self.context, code, f"text {code} 🙂")
            self.assertEqual((error.code, error.op, error.__cause__), (code, "", None))
            self.assertEqual(repr(error), f"{kind.__name__}('text {code} 🙂')")
            self.assertEqual(type(pickle.loads(pickle.dumps(error))), kind)
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
        self.refused(dl.InvalidArgument, "item: the tensor has 2 elements, expected one", x.item)

    def test_wrong_types(self):
        x = dl.tensor([1.0])
        for function, text in [
                (lambda: x + "1", "unsupported operand"), (lambda: dl.add(x, [1.0]), "add: expected a Tensor or a number, found list"),
                (lambda: x.sum(axes=1.5), "sum: axes: expected an integer or a sequence"), (lambda: dl.relu(object()), "relu: expected a Tensor"),
                (lambda: nn.Linear("2", 1), "in_features: 'str'"), (lambda: nn.Linear(2, 1, activation=None), "activation: must be str, not NoneType"),
                (lambda: nn.Dropout("1"), "p: must be real number, not str"), (lambda: dl.gelu(x, approximate=1), "gelu: approximate: must be str, not int"),
                (lambda: nn.Conv2d(1, 1, [3, None]), "kernel: 'NoneType'"), (lambda: nn.Sequential(nn.ReLU(), 3), "expected a module, found int"),
                (lambda: raw.dlcore_tensor_dtype(self.context), "expected a tensor, found Context"),
                (lambda: raw.dlcore_backward(1, 2), "expected a context, found int"), (lambda: dl.relu(), "missing required argument 'x'"),
                (lambda: dl.relu(x, 1), r"relu\(\) takes 1 positional"), (lambda: dl.sum(x, axs=1), "unexpected keyword argument 'axs'"),
                (lambda: dl.sum(x, x=x), "multiple values for argument 'x'"), (lambda: x.sum(x=x), "multiple values"),
                (lambda: x.astype(7), "a dtype is a str like 'f32', found int"), (lambda: x**x**"a", "unsupported"),
                (lambda: pow(x, 2, 3), "unsupported"), (lambda: x.on(3), "expected a Context, found int"), (lambda: raw.from_buffer(3, b"a"), "expected a Context"),
                (lambda: raw.op(3, 140, [], [1, 0, 1], 1), "expected a Context"), (lambda: x.on(x), "found dlcore.Tensor"),
                (lambda: nn.ReLU()([1.0]), "ReLU: expected a Tensor, found list")]:
            with self.assertRaisesRegex(TypeError, text):
                function()
        for function in [lambda: x + 2**64, lambda: x.reshape([2**64])]:
            with self.assertRaises(OverflowError):
                function()
        with self.assertRaises(ValueError):
            nn.ReLU().load("a\0b")

    def test_never_changes(self):
        x = dl.tensor([1.0, 2.0])
        with self.assertRaisesRegex(TypeError, "never changes"):
            x[0] = 3.0
        with self.assertRaises(BufferError):
            memoryview(x)[0] = 3.0 if not memoryview(x).readonly else self.fail_as_buffer()

    def fail_as_buffer(self):
        raise BufferError

    def test_wrong_names_are_answered(self):
        with self.assertRaisesRegex(AttributeError, "no 'cat'; use 'concat'"):
            dl.cat
        self.assertFalse(hasattr(dl, "nothing_like_it"))
        self.assertFalse(hasattr(dl.tensor(1.0), "nothing_like_it"))

    def test_failed_construction(self):
        with self.assertRaises(dl.InvalidArgument):
            dl.Engine(threads=-1)
        with self.assertRaises(dl.InvalidArgument):
            dl.Engine(isa="sse9")
        with self.assertRaisesRegex(dl.NotFound, "abacus"):
            self.engine.context("abacus")
        with self.assertRaisesRegex(dl.NotFound, "nowhere"):
            self.engine.load_plugin("/nowhere.so")

    def test_mixed_contexts(self):
        x = dl.tensor([1.0])
        with self.engine.context() as other:
            y = dl.tensor([2.0])
            for function in [lambda: x + y, lambda: dl.concat([x, y]), lambda: dl.where(x > 0, x, y)]:
                self.refused(dl.InvalidArgument, "another context", function)
            self.assertEqual((x.on(other) + y).item(), 3.0)
            self.assertIs((x.on(other) + y).context, other)
        with dl.Engine(threads=1) as engine, engine.context():
            z = dl.tensor([1.0])
            self.refused(dl.InvalidArgument, "another engine", lambda: z.on(self.context) + x)

    def test_memory_limit(self):
        with dl.Engine(threads=1, memory_limit=1 << 20) as engine, engine.context():
            self.refused(dl.ResourceExhausted, "limit", dl.full, [1 << 20], 1.0)
            self.assertEqual(dl.full([4], 1.0).sum().item(), 4.0)


if __name__ == "__main__":
    main()
