"""HyperLogLog sketches without Spark: images of each form, unions, what is no sketch."""

import random

import pyarrow as pa
import pytest

from muntin.runtime.sketches.hll import sketches_of_values, united_sketches
from tests.support.value_sets import set_column

LIST, TABLE, REGISTERS = 8, 9, 10
# An integer whose rank, 18, does not fit four bits.
RARE = 24321
# Sketches of the integers below 20 as DataSketches writes them: registers of four bits and of six,
# and a compact table.
OTHERS = {
    "four bits": (
        4,
        "0a010704000800020bb66a5349cc32400000000000a42040000000000000000005000000000000001411130301200207",
    ),
    "six bits": (
        4,
        "0a010704000000060bb66a5349cc32400000000000a420400000000000000000050000000000000044100443300001"
        "000802700000",
    ),
    "compact table": (
        8,
        "03010708050800011400000081bc5d06cef05b1f6ec53406862ff90ddb522d04cbd7c204b05b4612ae3c8811c1e917"
        "05d216730734a2610e75816607f671f206b83ff907464ab704fc2d420a7b65e6082bf2fb06c3dd51047c74b907",
    ),
}
# Those and the rare one, whose rank stands behind the registers.
APART = (
    "0a01070402080002b6158d5c93b834400000000001481d4000000000000000000400000001000000141113030120f207"
    "0d000048",
    "0a01070402000002b6158d5c93b834400000000001481d4000000000000000000400000001000000141113030120f207"
    "000000000d0000480000000000000000",
)
# The integers below 3000: every register has a rank of at least six.
HIGH = (
    "0a010704000806021f635b77846bb040000000000028ab3f0000000000000000010000000000000064248223"
    "51220425"
)


def sketch(values, bits=12):
    return sketches_of_values(set_column([values]), bits)[0].as_py()


def united(*rows, may_differ=False):
    return united_sketches(set_column(rows, pa.binary()), may_differ=may_differ).to_pylist()


def test_images_are_sparks():
    assert sketch([]).hex() == "0201070c03040008" + "00" * 32
    assert sketch([1, 2]).hex() == "0201070c030002082bf2fb06862ff90d" + "00" * 24
    assert sketch(range(20), bits=4).hex() == (
        "0a0107040010000a00000000000000000000000000a420400000000000000000050000000000000004010101030103"
        "000100000202000700"
    )
    texts = sketches_of_values(set_column([["", "a"], ["a"], [""]], pa.string()), 12).to_pylist()
    assert texts[0] == texts[1] != texts[2] == sketch([])


@pytest.mark.parametrize(
    ("bits", "count", "mode", "size"),
    [
        (12, 7, LIST, 40),
        (12, 8, TABLE, 12 + 4 * 32),
        (12, 24, TABLE, 12 + 4 * 32),
        (12, 25, TABLE, 12 + 4 * 64),
        (12, 384, TABLE, 12 + 4 * 512),
        (12, 385, REGISTERS, 40 + 4096),
        (8, 24, TABLE, 12 + 4 * 32),
        (8, 25, REGISTERS, 40 + 256),
        (7, 7, LIST, 40),
        (7, 8, REGISTERS, 40 + 128),
        (4, 5000, REGISTERS, 40 + 16),
        (21, 5000, TABLE, 12 + 4 * 8192),
    ],
)
def test_forms(bits, count, mode, size):
    image = sketch(range(count), bits)
    assert (image[7], len(image)) == (mode, size)
    if mode == REGISTERS:
        assert int.from_bytes(image[32:36], "little") == image[40:].count(0)


@pytest.mark.parametrize("seed", range(8))
def test_unions_are_sketches_of_all_values(seed):
    rng = random.Random(seed)
    bits = rng.choice([4, 8, 9, 12])
    sets = [
        [rng.randrange(3000) for _ in range(rng.choice([0, 1, 6, 20, 90, 900]))] for _ in range(8)
    ]
    images = [sketch(sorted(set(values)), bits) for values in sets]
    few = [rng.sample(range(8), rng.randrange(1, 9)) for _ in range(5)]
    expected = [sketch(sorted({v for n in row for v in sets[n]}), bits) for row in few]
    assert united(*[{images[n] for n in row} for row in few]) == expected
    assert united([]) == [sketch([])]


@pytest.mark.parametrize("name", OTHERS)
def test_other_images_are_read(name):
    bits, image = OTHERS[name]
    assert united([bytes.fromhex(image)]) == [sketch(range(20), bits)]


@pytest.mark.parametrize("image", APART)
def test_ranks_apart_from_the_registers_are_read(image):
    assert united([bytes.fromhex(image)]) == [sketch([*range(20), RARE], bits=4)]


def test_ranks_above_a_least_one_are_read():
    assert united([bytes.fromhex(HIGH)]) == [sketch(range(3000), bits=4)]


def test_different_sizes():
    few, many, small = sketch(range(3), 4), sketch(range(900), 10), sketch(range(200), 8)
    assert united([few, many], [many, sketch([], 5)]) == [b"", many]
    # As many registers as the smallest that must be united, and coupons lose nothing.
    assert united([few, many], [many, small], [few, sketch([7], 6)], may_differ=True) == [
        many,
        sketch(range(900), 8),
        sketch([0, 1, 2, 7], 6),
    ]


def test_what_is_no_sketch():
    whole = sketch(range(900), 8)
    wrong = [
        b"",
        b"no sketch at all",
        whole[:-1],
        whole[:20],
        # Another version, family, size or form.
        bytes([whole[0], 2, *whole[2:]]),
        bytes([*whole[:2], 3, *whole[3:]]),
        bytes([*whole[:3], 30, *whole[4:]]),
        bytes([*whole[:7], 9, *whole[8:]]),
        sketch(range(20))[:-1],
    ]
    assert united(*[[whole, each] for each in wrong]) == [b"\0"] * len(wrong)
