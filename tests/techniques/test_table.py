"""Which technique a monoid may have, and which it gets."""

import pytest

from muntin.aggregates import monoids as mo
from muntin.errors import PlanError
from muntin.techniques.table import TECHNIQUES, technique_for, technique_for_many
from tests.support.monoids import TEXT


@pytest.mark.parametrize(
    ("monoid", "best", "of_many"),
    [
        (mo.ADD, "subtract", "slick_deque"),
        (mo.ADD_WIDE, "subtract", "slick_deque"),
        (mo.ADD_FLOAT, "two_stacks_lite", "flat_fit"),
        (mo.MOMENTS, "two_stacks_lite", "flat_fit"),
        (mo.MAX, "two_stacks_lite", "slick_deque"),
        (TEXT, "two_stacks_lite", "flat_fit"),
    ],
    ids=lambda it: getattr(it, "name", it),
)
def test_defaults(monoid, best, of_many):
    assert technique_for(monoid).name == best
    assert technique_for_many(monoid).name == of_many


def test_subtraction_is_refused_to_a_maximum():
    with pytest.raises(PlanError) as refusal:
        technique_for(mo.MAX, "subtract")
    assert str(refusal.value) == (
        "subtract needs an exact inverse (counts and integer sums), which max lacks; it allows: "
        "recalc, panes, flat_fat, b_int, flat_fit, two_stacks, two_stacks_lite, daba, daba_lite, "
        "slick_deque"
    )


@pytest.mark.parametrize("name", ["subtract", "slick_deque"])
@pytest.mark.parametrize("monoid", [mo.ADD_FLOAT, mo.MOMENTS, TEXT], ids=lambda it: it.name)
def test_neither_inverse_nor_choice(monoid, name):
    with pytest.raises(PlanError, match=f"{name} needs .*, which {monoid.name} lacks"):
        technique_for(monoid, name)


def test_a_misspelt_technique_is_told_the_nearest():
    with pytest.raises(PlanError, match="did you mean 'flat_fit'"):
        technique_for(mo.MAX, "flatfit")


def test_techniques_of_one_window_are_refused_many():
    with pytest.raises(PlanError, match=r"daba answers windows of one size only; of many: .*b_int"):
        technique_for_many(mo.MAX, "daba")


def test_slick_deque_is_another_algorithm_where_there_is_an_inverse():
    technique = TECHNIQUES["slick_deque"]
    assert technique.algorithm_for(mo.ADD) is technique.algorithm_with_inverse
    assert technique.algorithm_for(mo.MAX) is technique.algorithm


@pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=lambda it: it.name)
def test_every_algorithm_opens_with_its_card(technique):
    for algorithm in filter(None, (technique.algorithm, technique.algorithm_with_inverse)):
        card = algorithm.__doc__
        for field in ("\nneeds  ", "\ntime  ", "\nspace  ", "\nwindows  "):
            assert field in card
