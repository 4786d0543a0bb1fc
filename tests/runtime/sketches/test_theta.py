"""Theta sketches without Spark: its bytes, unions and intersections of sets, what is no sketch."""

import math
import random

import pyarrow as pa
import pytest

from muntin.runtime.sketches.theta import (
    WHOLE,
    common_sketches,
    read_images,
    sketches_of_values,
    united_sketches,
)
from tests.support.value_sets import set_column

# Sketches as Spark wrote them.
WRITTEN = [
    ([], pa.int64(), "01030300001e0000"),
    ([1], pa.int64(), "01030300003acc9315f97dcbbd86a105"),
    (
        [1, 2, 3],
        pa.int32(),
        "0104033e011acc930316861af72df7e4558fbe9c3477e9eaefb2e5966badaa3dc0",
    ),
    ([math.nan, 0.0], pa.float64(), "0104033d011acc930254422226b2f4c7ad6f0f210600b4bc00"),
    ([1.1], pa.float32(), "01030300003acc93958916d00a232169"),
    (["", "a"], pa.string(), "01030300003acc9317c11d528507017b"),
    ([bytes(range(19)), b""], pa.binary(), "01030300003acc93ce4a9b6373c7543e"),
    ([""], pa.string(), "01030300001e0000"),
]
# A sketch of sixteen entries of the integers below 40, which has two more, in no order.
LOOSE = (
    "03030300000acc93120000000000803ff796fbd50949aa2540de2ee1c9db3d083ebadca36f6fb620e2dacf9fcdeabe04"
    "23a55b381afd741fe56b61eec8804420698bb991b8685708ca0361aae7339f151ad1300b998c2f226da916bc4a66611e"
    "4ff24de0bc0cae1c919df55cf66fba119ba3841106ddc91b15f97dcbbd86a105b6f28e894f5f7221c397fc1281709d1e"
    "fb38798913248f01bd3273724691cc14fe162113fb98bc10"
)


def sketch(values, bits=12):
    return sketches_of_values(set_column([values]), bits)[0].as_py()


def united(*rows, bits=12):
    return united_sketches(set_column(rows, pa.binary()), bits).to_pylist()


def common(*rows):
    return common_sketches(set_column(rows, pa.binary())).to_pylist()


def hashes(image):
    runs = read_images(pa.array([image], pa.large_binary()))
    assert runs.is_sketch.all()
    return runs.hashes.tolist(), int(runs.thetas[0])


@pytest.mark.parametrize(("values", "kind", "image"), WRITTEN, ids=lambda given: str(given)[:12])
def test_images_are_sparks(values, kind, image):
    assert sketches_of_values(set_column([values], kind), 12)[0].as_py().hex() == image


@pytest.mark.parametrize("count", [15, 16, 17, 32, 33, 1000])
def test_the_least_hashes_are_kept(count):
    every, theta = hashes(sketch(range(count)))
    assert (len(every), theta) == (count, WHOLE)
    least, theta = hashes(sketch(range(count), bits=4))
    assert least == every[:16]
    assert theta == (every[16] if count > 16 else WHOLE)


@pytest.mark.parametrize("seed", range(6))
def test_unions_are_sketches_of_all_values(seed):
    rng = random.Random(seed)
    bits = rng.choice([4, 5, 8])
    sets = [
        [rng.randrange(400) for _ in range(rng.choice([0, 1, 5, 20, 90, 300]))] for _ in range(8)
    ]
    images = [sketch(sorted(set(values)), bits) for values in sets]
    few = [rng.sample(range(8), rng.randrange(9)) for _ in range(5)]
    expected = [sketch(sorted({v for n in row for v in sets[n]}), bits) for row in few]
    assert united(*[{images[n] for n in row} for row in few], bits=bits) == expected


def test_a_union_has_the_least_theta():
    small, large = sketch(range(100), bits=4), sketch(range(50, 70))
    (image,) = united([small, large])
    _, theta = hashes(small)
    least = [each for each in hashes(sketch(range(100)))[0] if each < theta]
    assert hashes(image) == (least, theta)


def test_intersections_have_the_common_hashes():
    first, second, small = sketch(range(60)), sketch(range(30, 90)), sketch(range(40, 300), bits=5)
    both, of_all, alone = common([first, second], [first, second, small], [small])
    assert both == sketch(range(30, 60))
    _, theta = hashes(small)
    assert hashes(of_all) == ([h for h in hashes(sketch(range(40, 60)))[0] if h < theta], theta)
    assert alone == small


def test_intersections_of_nothing():
    small = sketch(range(1000), bits=4)
    nothing, empty, apart, rest = common(
        [], [sketch([]), small], [sketch([1]), sketch([2])], [small, sketch([5000])]
    )
    assert nothing == empty == apart == sketch([])
    # Values above theta may be common, so this is no empty sketch.
    assert hashes(rest) == ([], hashes(small)[1])
    assert len(rest) == 24
    assert united([rest]) == [rest]


def test_other_images_are_read():
    loose = bytes.fromhex(LOOSE)
    assert len(hashes(loose)[0]) == 18
    assert united([loose], bits=4) == [sketch(range(40), bits=4)]
    # An empty sketch and one of a single value, as earlier versions wrote them.
    bare = bytes.fromhex("01030300000acc93")
    single = bytes.fromhex("01030300001acc9315f97dcbbd86a105")
    assert united([bare], [single, bare]) == [sketch([]), sketch([1])]


def test_what_is_no_sketch():
    whole = sketch(range(50), bits=4)
    wrong = [
        b"",
        b"no sketch at all",
        whole[:-1],
        whole[:9],
        # Another family, version or seed.
        bytes([*whole[:2], 2, *whole[3:]]),
        bytes([whole[0], 9, *whole[2:]]),
        bytes([*whole[:6], 0, *whole[7:]]),
        bytes.fromhex(LOOSE)[:-8],
    ]
    answers = united(*[[whole, each] for each in wrong], [whole], bits=4)
    assert answers == [b""] * len(wrong) + [whole]
    assert common(*[[each] for each in wrong]) == [b""] * len(wrong)
