"""Vectors of numbers inside compiled functions: the few operations that a kernel sum needs.

Numba's own vectorization keeps the partial sums of a loop in memory. These operations keep them in
registers, and their order is fixed, so a row's score cannot depend on how a loop is unrolled. LLVM
splits the vectors to the size that the processor has.

A vector has `VECTOR_BYTES` bytes: 16 numbers in float64, 32 in float32.
"""

from typing import Any, Final

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic, models, register_model

from rankad.kernels.layout import N_TERMS, VECTOR_BYTES


class Vector(types.Type):  # type: ignore[misc]
    """Numba's type of a vector: the type and the number of its elements."""

    def __init__(self, element: types.Float) -> None:
        self.element = element
        self.lanes = 8 * VECTOR_BYTES // element.bitwidth
        super().__init__(f"Vector({element} x {self.lanes})")

    @property
    def ir_type(self) -> ir.VectorType:
        """LLVM's type."""
        is_double = self.element.bitwidth == np.finfo(np.float64).bits
        return ir.VectorType(ir.DoubleType() if is_double else ir.FloatType(), self.lanes)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, vector.ir_type)


@intrinsic  # type: ignore[untyped-decorator]
def lanes_in(_: Any, array: Any) -> Any:
    """Numbers in a vector of the array's type, as a constant for the compiler."""
    lanes = Vector(array.dtype).lanes

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(types.intp, lanes)

    return types.intp(array), emit


@intrinsic  # type: ignore[untyped-decorator]
def loaded(_: Any, array: Any, start: Any) -> Any:
    """Vector of the elements of a contiguous 1-d array that begin at ``start``."""
    vector = Vector(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, array, args)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return vector(array, types.intp), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(_: Any, array: Any, start: Any, vector: Any) -> Any:
    """Write a vector to the elements of a contiguous 1-d array that begin at ``start``."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, array, args), array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), emit


def _pointer(context: Any, builder: Any, array: Any, args: Any) -> Any:
    data = context.make_array(array)(context, builder, args[0]).data
    vector_pointer = Vector(array.dtype).ir_type.as_pointer()
    return builder.bitcast(builder.gep(data, [args[1]]), vector_pointer)


@intrinsic  # type: ignore[untyped-decorator]
def splat(_: Any, number: Any) -> Any:
    """Vector with the same number in every lane."""
    vector = Vector(number)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, vector, args[0])

    return vector(number), emit


def _splat(builder: Any, vector: Vector, number: Any) -> Any:
    undefined = ir.Constant(vector.ir_type, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), [0] * vector.lanes)
    return builder.shuffle_vector(first, undefined, lanes)


@intrinsic  # type: ignore[untyped-decorator]
def difference(_: Any, a: Any, b: Any) -> Any:
    """``a - b``."""
    return a(a, b), lambda context, builder, signature, args: builder.fsub(*args)


@intrinsic  # type: ignore[untyped-decorator]
def shifted_down(_: Any, a: Any, shift: Any) -> Any:
    """``a - shift`` in every lane; with None for ``shift``, no code at all."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if shift is types.none:
            return args[0]
        return builder.fsub(args[0], _splat(builder, a, args[1]))

    return a(a, shift), emit


@intrinsic  # type: ignore[untyped-decorator]
def multiply_add(_: Any, a: Any, b: Any, c: Any) -> Any:
    """``a b + c``, rounded once."""
    return a(a, b, c), lambda context, builder, signature, args: _fma(builder, a, *args)


def _fma(builder: Any, vector: Vector, a: Any, b: Any, c: Any) -> Any:
    of_vectors = ir.FunctionType(vector.ir_type, [vector.ir_type] * 3)
    name = f"llvm.fma.v{vector.lanes}f{vector.element.bitwidth}"
    known = builder.module.globals.get(name)
    function = ir.Function(builder.module, of_vectors, name) if known is None else known
    return builder.call(function, [a, b, c])


@intrinsic  # type: ignore[untyped-decorator]
def smaller(_: Any, a: Any, b: Any) -> Any:
    """The smaller of two numbers, in every lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return a(a, b), emit


@intrinsic  # type: ignore[untyped-decorator]
def larger(_: Any, a: Any, b: Any) -> Any:
    """The larger of two numbers, in every lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), emit


@intrinsic  # type: ignore[untyped-decorator]
def where_at_most(_: Any, x: Any, limit: Any, value: Any, otherwise: Any) -> Any:
    """``value`` in the lanes where ``x <= limit``, else ``otherwise``."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<=", args[0], args[1]), args[2], args[3])

    return value(x, limit, value, otherwise), emit


@intrinsic  # type: ignore[untyped-decorator]
def sum_of(_: Any, vector: Any) -> Any:
    """Sum over the lanes, in a fixed order: one half of the lanes is added to the other."""
    return vector.element(vector), _reduction(lambda builder, a, b: builder.fadd(a, b))


@intrinsic  # type: ignore[untyped-decorator]
def minimum_of(_: Any, vector: Any) -> Any:
    """Smallest number of all lanes."""

    def smaller_of(builder: Any, a: Any, b: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", a, b), a, b)

    return vector.element(vector), _reduction(smaller_of)


def _reduction(combined: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, n = args[0], signature.args[0].lanes
        while n > 1:
            n //= 2
            halves = (
                builder.shuffle_vector(value, value, _lanes(range(first, first + n)))
                for first in (0, n)
            )
            value = combined(builder, *halves)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return emit


def _lanes(indices: range) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), list(indices))


@intrinsic  # type: ignore[untyped-decorator]
def power_parts(_: Any, exponents: Any, constants: Any) -> Any:
    """``(2^n, 2^r - 1)`` for ``n + r = -exponents``, n an integer and ``|r| <= 1/2``.

    So ``2^-x = 2^n (2^r - 1) + 2^n``, and 2^-x - 1 keeps its digits if x is small. The exponents
    must lie between 0 and `zero_exponent`, at which 2^n is 0. ``constants`` are `power_constants`,
    in an array because LLVM would load constants of the code one by one in every iteration.
    """
    layout = np.finfo(str(exponents.element))

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(constants)(context, builder, args[1]).data
        rounding, one, *terms = (
            _splat(builder, exponents, builder.load(builder.gep(data, [ir.Constant(_INTP, k)])))
            for k in range(2 + N_TERMS[layout.dtype.name])
        )
        integers = ir.VectorType(ir.IntType(layout.bits), exponents.lanes)
        shifted = builder.fsub(rounding, args[0])
        n = builder.bitcast(shifted, integers)
        r = builder.fsub(builder.fsub(rounding, shifted), args[0])
        to_exponent_bits = ir.Constant(integers, [layout.nmant] * exponents.lanes)
        power = builder.add(builder.shl(n, to_exponent_bits), builder.bitcast(one, integers))
        value = terms.pop()
        for term in reversed(terms):
            value = _fma(builder, exponents, value, r, term)
        parts = builder.bitcast(power, exponents.ir_type), builder.fmul(value, r)
        return context.make_tuple(builder, signature.return_type, parts)

    return types.UniTuple(exponents, 2)(exponents, constants), emit


_INTP: Final = ir.IntType(types.intp.bitwidth)
