"""What is bound decides the name under which machine code is kept."""

import pickle

import numpy as np
import pytest

from muntin.aggregates.monoids import ADD_LIMBS, BIT_AND, MAX, MIN, Monoid
from muntin.techniques import daba, panes, recalc
from muntin.techniques.kernels import drivers
from muntin.techniques.kernels.compile import bind
from muntin.techniques.kernels.kernel_cache import KernelCache

TENS = np.array([10, 20])


def test_each_monoid_and_algorithm_has_a_name_of_its_own():
    kernels = [
        bind(recalc.fold, MAX),
        bind(recalc.fold, MIN),
        bind(recalc.fold, MAX, counted=True),
        bind(drivers.fold, MAX, algorithm=daba),
        bind(drivers.fold, MAX, algorithm=panes),
    ]
    assert len({kernel.py_func.__qualname__ for kernel in kernels}) == len(kernels)


def test_the_same_binding_is_made_once():
    assert bind(recalc.fold, MAX) is bind(recalc.fold, MAX)


@pytest.mark.parametrize("monoid", [MAX, MIN, BIT_AND], ids=lambda monoid: monoid.name)
def test_a_monoid_that_was_sent_to_a_worker_has_the_same_kernel(monoid):
    # A NaN is not equal to itself, and MIN has one.
    sent = pickle.loads(pickle.dumps(monoid))
    assert bind(recalc.fold, sent) is bind(recalc.fold, monoid)


def test_monoids_that_differ_by_a_constant_are_not_confused():
    one = Monoid(name="same", combine=lambda a, b: a + b + 1)
    two = Monoid(name="same", combine=lambda a, b: a + b + 2)
    names = [bind(recalc.fold, monoid).py_func.__qualname__ for monoid in (one, two)]
    assert names[0] != names[1]


@pytest.mark.parametrize("shift", [1, 5])
def test_a_closure_is_compiled_but_not_kept_on_disk(shift):
    # Its code is the same for either shift, so a name made from code would confuse the two.
    monoid = Monoid(name="shifted", combine=lambda a, b: a + b + shift)
    kernel = bind(recalc.fold, monoid)
    answers = np.empty(1)
    kernel(np.array([1.0, 2.0]), np.array([0]), np.array([2]), answers)
    assert answers.tolist() == [3.0 + shift]
    assert type(kernel._cache).__name__ == "NullCache"


def count_tens(values, lows, highs, answers):
    for number in range(len(lows)):
        answers[number] = len(TENS) + combine(lows[number], highs[number])  # noqa: F821


def test_constants_of_a_module_are_told_by_their_text():
    """Sums of decimals read one; a worker that compiled them would take seconds to start."""
    kernel = bind(recalc.fold, ADD_LIMBS)
    assert isinstance(kernel._cache, KernelCache)


def test_what_cannot_be_told_by_a_text_is_compiled_but_not_kept_on_disk():
    kernel = bind(count_tens, MAX)
    answers = np.empty(1)
    kernel(np.array([1.0]), np.array([2.0]), np.array([3.0]), answers)
    assert answers.tolist() == [5.0]
    assert type(kernel._cache).__name__ == "NullCache"
