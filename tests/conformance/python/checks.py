# SPDX-License-Identifier: Apache-2.0
"""What is required of a case; each raises Failure."""

import dlcore as dl
import numpy as np
from comparison import FLOATS, Failure, difference, encode, numbers
from dlcore import _dlcore as raw
from session import is_differentiable, is_tensor

EXAMPLES = 3
# Another dtype of the same size, so that only the dtype can give a mistake away.
LOOK_ALIKE = {"bool": "u8", "u8": "i8", "i8": "bool", "i16": "f16", "f16": "bf16", "bf16": "i16", "i32": "f32", "f32": "i32",
              "i64": "f64", "f64": "i64"}
CODES = {kind.__name__: kind for kind in dl.Error.__subclasses__()}


def error(session, family, case):
    wanted = case["expect"]["error"]
    kind = CODES[wanted.title().replace("_", "")]
    try:
        session.call(case, inputs_of(session, family, case))
    except dl.Error as found:
        if type(found) is not kind:
            raise Failure(f"raised {type(found).__name__}: {found}, expected {kind.__name__}") from found
        for word in case["expect"]["contains"]:
            if word not in str(found):
                raise Failure(f"message {str(found)!r} lacks {word!r}") from found
    else:
        raise Failure(f"succeeded, expected {wanted}")


def outputs(session, family, case):
    expected = case["expect"]["outputs"]
    made = session.call(case, inputs_of(session, family, case), len(expected))
    for place, (tensor, wanted) in enumerate(zip(made, expected, strict=True)):
        try:
            _output(session, family, case, tensor, wanted)
        except Failure as failure:
            raise Failure(f"output {place}: {failure}") from None


def _output(session, family, case, tensor, wanted):
    found = tensor.dtype, tensor.shape, tensor.is_weak
    if found != (wanted["dtype"], tuple(wanted["shape"]), wanted.get("weak", False)):
        raise Failure(f"is {found}, expected {wanted}")
    dtype, _, elements = session.read(tensor)
    values = numbers(dtype, elements)
    if "within" in wanted:
        low, high = wanted["within"]
        if not ((values >= low) & (values < high)).all():
            raise Failure(f"has elements outside [{low}, {high})")
    if "tensor" in wanted:
        stored, _, bits = family.tensors[wanted["tensor"]]
        require(values, numbers(stored, bits), dtype, case.get("tolerance", {}), signed_zero(case))
    try:
        raw.dlcore_tensor_read(session.context, tensor, raw.dlcore_dtype_by_name(LOOK_ALIKE[dtype]), bytearray(elements.nbytes))
    except dl.InvalidArgument:
        return
    raise Failure(f"could be read as {LOOK_ALIKE[dtype]}")


def layout(session, family, case):
    """The same bits from contiguous inputs."""
    if not any(is_tensor(record) and "view" in record for record in case["inputs"]):
        return
    inputs = inputs_of(session, family, case)
    plain = [session.create(*session.read(x)) if is_tensor(record) and "view" in record else x
             for x, record in zip(inputs, case["inputs"])]
    viewed, other = (session.call(case, given)[0].tobytes() for given in (inputs, plain))
    if viewed != other:
        raise Failure("not the same bits as with contiguous inputs")


def gradients(session, family, case):
    inputs, places = inputs_of(session, family, case), is_differentiable(case)
    for place in places:
        inputs[place] = inputs[place].watch()
    leaves = [inputs[place] for place in places]
    output = session.call(case, inputs)[0]
    found = [None] * len(places)
    if output.requires_grad:  # else it is a constant: its gradients are zeros
        found = dl.gradients(output, leaves, [session.create(*seed_of(family, case))], allow_unused=True)
    for place, leaf, gradient in zip(places, leaves, found):
        if gradient is None:
            got = np.zeros(leaf.size)
        elif (gradient.dtype, gradient.shape) != (leaf.dtype, leaf.shape):
            raise Failure(f"gradient of input {place} is {gradient.dtype} {gradient.shape}, expected {leaf.dtype} {leaf.shape}")
        else:
            got = numbers(gradient.dtype, session.read(gradient)[2])
        try:
            require(got, expected_gradient(family, case, place), leaf.dtype, case["gradients"]["tolerance"])
        except Failure as failure:
            raise Failure(f"gradient of input {place}: {failure}") from None


def forward_mode(session, family, case):
    """<seed, J t> must be <gradient, t>."""
    inputs, places = inputs_of(session, family, case), is_differentiable(case)
    expected = size = 0.0
    tangents = []
    for place in places:
        gradient = expected_gradient(family, case, place)
        direction = ((np.arange(gradient.size) * 7 + place * 3 + 3) % 11 - 5) / 8
        with np.errstate(all="ignore"):
            expected, size = expected + (gradient * direction).sum(), size + np.abs(gradient * direction).sum()
        x = inputs[place]
        tangents.append(session.create(x.dtype, x.shape, encode(direction, x.dtype)))
    if not np.isfinite(size):
        return

    def function(*points):
        given = list(inputs)
        for place, point in zip(places, points):
            given[place] = point
        return session.call(case, given)[0]

    value, rate = dl.jvp(function, [inputs[place] for place in places], tangents)
    stored, _, bits = family.tensors[case["expect"]["outputs"][0]["tensor"]]
    require(numbers(value.dtype, session.read(value)[2]), numbers(stored, bits), value.dtype, case.get("tolerance", {}),
            signed_zero(case))
    dtype, shape, seed = seed_of(family, case)
    if (rate.dtype, rate.shape) != (dtype, shape):
        raise Failure(f"tangent is {rate.dtype} {rate.shape}, expected {dtype} {shape}")
    products = numbers(dtype, seed) * numbers(dtype, session.read(rate)[2])
    size += np.abs(products).sum()
    tolerance = case["gradients"]["tolerance"]
    allowed = (tolerance.get("rtol", 0) + 1e-10) * size + tolerance.get("atol", 0)
    if not abs(products.sum() - expected) <= allowed:
        raise Failure(f"forward mode: <seed, J t> is {products.sum()}, expected {expected}")


def gradcheck(session, family, case):
    inputs, places = inputs_of(session, family, case), is_differentiable(case)

    def function(*points):
        given = [x.on(points[0].context) if isinstance(x, dl.Tensor) else x for x in inputs]
        for place, point in zip(places, points):
            given[place] = point
        return session.call(case, given)[0]

    dl.gradcheck(function, *(inputs[place] for place in places), order=2)


def vmap(session, family, case):
    """The same as a loop over examples, which are the elements moved on by some places."""
    inputs = inputs_of(session, family, case)
    mapped = [place for place, record in enumerate(case["inputs"]) if is_tensor(record)]
    for chosen in [mapped, *([mapped[:1]] if len(mapped) > 1 else [])]:
        arrays = [session.read(inputs[place]) for place in chosen]
        one_by_one = [(dtype, shape, [np.roll(elements, -k) for k in range(EXAMPLES)]) for dtype, shape, elements in arrays]
        loop = [session.call(case, _replaced(inputs, chosen, [session.create(d, s, e[k]) for d, s, e in one_by_one]))[0]
                for k in range(EXAMPLES)]
        stacked = [session.create(d, (EXAMPLES, *s), np.concatenate(e)) for d, s, e in one_by_one]
        got = dl.vmap(lambda *xs: session.call(case, _replaced(inputs, chosen, xs))[0])(*stacked)
        if (got.dtype, got.shape) != (loop[0].dtype, (EXAMPLES, *loop[0].shape)):
            raise Failure(f"vmap: is {got.dtype} {got.shape}, expected {loop[0].dtype} {(EXAMPLES, *loop[0].shape)}")
        expected = np.concatenate([numbers(y.dtype, session.read(y)[2]) for y in loop])
        require(numbers(got.dtype, session.read(got)[2]), expected, got.dtype, case.get("tolerance", {}), signed_zero(case))


def _replaced(inputs, places, values):
    given = list(inputs)
    for place, value in zip(places, values):
        given[place] = value
    return given


def inputs_of(session, family, case):
    return [session.input(family, record) for record in case["inputs"]]


def seed_of(family, case):
    stored, _, bits = family.tensors[case["gradients"]["seed"]]
    output = case["expect"]["outputs"][0]
    return output["dtype"], tuple(output["shape"]), encode(numbers(stored, bits), output["dtype"])


def expected_gradient(family, case, place):
    stored, _, bits = family.tensors[case["gradients"]["inputs"][place]]
    return numbers(stored, bits)


def signed_zero(case):
    return "signed_zero" in case.get("flags", ())


def require(got, expected, dtype, tolerance, zeros=False):
    if (dtype in FLOATS) != (expected.dtype.kind == "f"):
        raise Failure(f"is {dtype}, expected {expected.dtype}")
    if text := difference(got, expected, dtype, tolerance, zeros):
        raise Failure(text)


def of(case):
    """The checks of a case."""
    if "error" in case["expect"]:
        return [error]
    flags = case.get("flags", ())
    return [outputs, layout, *([gradients] if is_differentiable(case) else []),
            *(check for flag, check in (("jvp", forward_mode), ("smooth", gradcheck), ("vmap", vmap)) if flag in flags)]
