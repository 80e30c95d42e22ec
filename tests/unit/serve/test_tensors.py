"""Tensors survive the wire, and what is no tensor is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from millpond.serve.errors import ServeError
from millpond.serve.tensors import datatype_of, from_binary, from_json, to_binary, to_json

KINDS = [np.bool_, *(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))]
FLOATS = [np.float16, np.float32, np.float64]
shapes = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@given(st.data(), st.sampled_from([*KINDS, *FLOATS]))
def test_arrays_come_back_from_bytes(data: st.DataObject, kind: type) -> None:
    array = data.draw(arrays.arrays(kind, shapes))
    back = from_binary("x", datatype_of(array), list(array.shape), bytes(to_binary(array, datatype_of(array))))
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(st.data(), st.sampled_from(KINDS))
def test_whole_numbers_come_back_from_json(data: st.DataObject, kind: type) -> None:
    array = data.draw(arrays.arrays(kind, shapes))
    datatype = datatype_of(array)
    np.testing.assert_array_equal(from_json("x", datatype, list(array.shape), to_json(array, datatype)), array)
    np.testing.assert_array_equal(from_json("x", datatype, [array.size], array.reshape(-1).tolist()), array.reshape(-1))


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_byte_strings_come_back(elements: list[bytes]) -> None:
    array = np.array([*elements, b"last"], np.object_)[:-1]
    assert from_binary("x", "BYTES", [len(elements)], to_binary(array, "BYTES")).tolist() == elements


@given(st.floats(width=32))
def test_bf16_is_rounded_to_the_nearest(value: float) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([value], np.float32)
    with np.errstate(over="ignore"):
        expected = array.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(from_binary("x", "BF16", [1], to_binary(array, "BF16")), expected)


@pytest.mark.parametrize(
    ("datatype", "shape", "data"),
    [("INT8", [1], [128]), ("UINT8", [1], [-1]), ("INT64", [1], [2**63]), ("FP16", [1], [70000]), ("BF16", [1], [1])],
)
def test_numbers_that_do_not_fit_are_refused(datatype: str, shape: list[int], data: list[float]) -> None:
    with pytest.raises(ServeError):
        from_json("x", datatype, shape, data)
