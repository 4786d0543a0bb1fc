"""docs/not-shared.md has what muntin says today of what it does not share."""

from tests.support.not_shared import PAGE, page


def test_the_page_of_what_is_not_shared_is_up_to_date(spark):
    assert PAGE.read_text() == page(spark), "run python -m tests.support.not_shared"
