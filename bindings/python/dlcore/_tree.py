# SPDX-License-Identifier: Apache-2.0
"""Tensors inside lists, tuples and dicts, as functions take and return them."""

from __future__ import annotations

from typing import Any, Callable

from ._dlcore import Tensor


def flatten(tree: Any) -> tuple[list[Tensor], Callable[[list[Any]], Any]]:
    """The tensors in it, and what puts others in their places. All else stays as it is."""
    leaves: list[Tensor] = []
    rebuild = _take_apart(tree, leaves)
    return leaves, rebuild


def _take_apart(tree: Any, leaves: list[Tensor]) -> Callable[[list[Any]], Any]:
    if isinstance(tree, Tensor):
        place = len(leaves)
        leaves.append(tree)
        return lambda values: values[place]
    if isinstance(tree, dict):
        parts = {key: _take_apart(value, leaves) for key, value in tree.items()}
        return lambda values: {key: part(values) for key, part in parts.items()}
    if isinstance(tree, (list, tuple)):
        items = [_take_apart(value, leaves) for value in tree]
        kind = type(tree)
        if hasattr(kind, "_fields"):  # a named tuple
            return lambda values: kind(*(item(values) for item in items))
        return lambda values: kind(item(values) for item in items)
    return lambda values: tree


def signature(tree: Any) -> Any:
    """What tells two arguments of a compiled function apart: dtypes and shapes of tensors, all else by value."""
    if isinstance(tree, Tensor):
        return ("tensor", tree.dtype, tree.shape, tree.is_weak)
    if isinstance(tree, dict):
        return ("dict", *((key, signature(value)) for key, value in tree.items()))
    if isinstance(tree, (list, tuple)):
        return (type(tree), *map(signature, tree))
    return (type(tree), tree)
