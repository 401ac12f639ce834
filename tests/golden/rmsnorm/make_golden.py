#!/usr/bin/env python3
"""Writes the golden values of rmsnorm.forward, computed by NumPy in double precision.

    /usr/bin/python3 make_golden.py        (Debian: python3-numpy; writes *.txt beside itself)

One file per case, words separated by white space:

    rows 3  hidden 7  x_stride 11  eps 9.99999997e-07
    x       (rows - 1) * x_stride + hidden numbers, those between the rows being NaN
    weight  hidden numbers
    y       rows * hidden numbers, 17 significant digits
    rstd    rows numbers, 17 significant digits

Every input is exact in bf16 and in f16, so that one file serves all dtypes; eps is an exact f32.
The sums use math.fsum, which rounds once: nothing is shared with how the kernels add.
"""

import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent


def exact_in_16_bits(values):
    """Rounds to numbers that bf16 (8 significant bits) and f16 (its range and grid) both hold."""
    bits = values.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    rounded = bits.view(np.float32).astype(np.float16).astype(np.float32)
    assert np.all(np.isfinite(rounded))
    assert not np.any(rounded.view(np.uint32) & 0xFFFF), "not exact in bf16"
    return rounded.astype(np.float64)


def rmsnorm(x, weight, eps):
    rstd = np.array([1.0 / math.sqrt(math.fsum(row * row) / len(row) + eps) for row in x])
    return x * rstd[:, None] * weight, rstd


def numbers(values, digits):
    words = [f"{value:.{digits}g}" for value in values]
    return "\n".join(" ".join(words[i : i + 6]) for i in range(0, len(words), 6))


def write_case(name, x, weight, eps=1e-6, x_stride=None):
    rows, hidden = x.shape
    x_stride = x_stride or hidden
    x, weight = exact_in_16_bits(x), exact_in_16_bits(weight)
    eps = float(np.float32(eps))
    y, rstd = rmsnorm(x, weight, eps)
    padded = np.full((rows, x_stride), np.nan)
    padded[:, :hidden] = x
    in_memory = padded.reshape(-1)[: (rows - 1) * x_stride + hidden]
    (FOLDER / f"{name}.txt").write_text(
        f"rows {rows}  hidden {hidden}  x_stride {x_stride}  eps {eps:.9g}\n"
        f"x\n{numbers(in_memory, 9)}\nweight\n{numbers(weight, 9)}\n"
        f"y\n{numbers(y.reshape(-1), 17)}\nrstd\n{numbers(rstd, 17)}\n"
    )


def main():
    random = np.random.RandomState(20240229)  # the legacy generator: its streams never change
    normal = random.standard_normal

    write_case("one_element", np.array([[-3.0]]), np.array([0.5]))
    write_case("ordinary_2x128", normal((2, 128)), normal(128))
    write_case("odd_3x7", normal((3, 7)), normal(7))
    write_case("odd_2x1001", normal((2, 1001)), normal(1001))
    write_case("strided_3x7", normal((3, 7)), normal(7), x_stride=11)
    write_case("strided_5x32", normal((5, 32)), normal(32), x_stride=40)
    write_case("eps_zero_2x33", normal((2, 33)), normal(33), eps=0.0)
    write_case("eps_large_2x33", normal((2, 33)), normal(33), eps=0.5)
    write_case("large_3x64", 1e4 * random.uniform(-1, 1, (3, 64)), normal(64))
    write_case("tiny_3x64", 1e-4 * normal((3, 64)), normal(64), eps=1e-5)
    write_case("zero_rows_3x16", normal((3, 16)) * [[0.0], [1.0], [0.0]], normal(16))
    write_case("outlier_2x256", np.where(np.arange(256) == 77, 6e3, normal((2, 256))), normal(256))


if __name__ == "__main__":
    main()
