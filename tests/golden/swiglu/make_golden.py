#!/usr/bin/env python3
"""Writes the golden values of the swiglu operators, computed with 60 decimal digits.

    python3 make_golden.py        (the standard library alone; writes values.txt beside itself)

A line is one element: dy, gate, up, y, dgate, dup. Inputs are exact in bf16 and in f16, so that one
file serves all dtypes; outputs have 17 significant digits. e^-gate comes from decimal's own exp, and
dgate from the slope written as s + y' * (1 - s): nothing is shared with the kernels.
"""

import decimal
import pathlib
import random
import struct

D = decimal.Decimal
decimal.getcontext().prec = 60


def exact_in_16_bits(value):
    """The nearest number that bf16 (8 significant bits) and f16 (its range and grid) both hold."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    rounded = struct.unpack("<f", struct.pack("<I", bits))[0]
    return struct.unpack("<e", struct.pack("<e", rounded))[0]


def swiglu(dy, gate, up):
    s = 1 / (1 + (-gate).exp())
    silu = gate * s
    return silu * up, dy * up * (s + silu * (1 - s)), dy * silu


def main():
    numbers = random.Random(20240229)
    gates = [0.0, 1.0, -1.0, -1.28125, 8.0, -8.0, 20.0, -20.0, 60.0, -60.0, 6e-5, -6e-5]
    gates += [numbers.gauss(0, 1) for _ in range(60)] + [numbers.uniform(-40, 40) for _ in range(60)]
    lines = []
    for gate in gates:
        inputs = [exact_in_16_bits(v) for v in (numbers.gauss(0, 1), gate, numbers.gauss(0, 1))]
        outputs = swiglu(*(D(v) for v in inputs))
        lines.append(" ".join([f"{v:.9g}" for v in inputs] + [f"{v:.16e}" for v in outputs]))
    path = pathlib.Path(__file__).parent / "values.txt"
    path.write_text("dy gate up y dgate dup\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
