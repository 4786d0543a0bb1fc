"""Finds the state of trees by their definitions, where a plan numbers its trees by their place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muntin.errors import RunError
from muntin.runtime.state.bucket import BucketState, StoredDefinition
from muntin.runtime.state.stream_tree import StreamTree


@dataclass(frozen=True, kw_only=True)
class TreeDefinition:
    """What a tree keeps, as a hash; equal for all orders and names of its queries."""

    digest: str
    # The places of its components in the order in which the digest has them.
    order: tuple[int, ...]
    queries: tuple[str, ...]


def find_state(
    state: BucketState, trees: Sequence[StreamTree], definitions: Mapping[int, TreeDefinition]
) -> tuple[BucketState, list[StreamTree]]:
    """Returns a bucket's state under the numbers of a plan's trees, and the trees with the columns
    that they have in it; refuses a plan whose trees are not those stored.

    A state without definitions, which an earlier muntin left, is taken as it is.
    """
    numbers = dict(zip(definitions, definitions, strict=True))
    trees = list(trees)
    if state.definitions:
        numbers = _stored_numbers(state.definitions, definitions)
        for place, tree in enumerate(trees):
            columns = state.definitions[numbers[tree.number]].columns
            order = definitions[tree.number].order
            trees[place] = tree.with_columns(dict(zip(order, columns, strict=True)))
    stored = {
        tree.number: StoredDefinition(
            digest=definitions[tree.number].digest,
            columns=[
                tree.layout.storages[place].columns for place in definitions[tree.number].order
            ],
        )
        for tree in trees
    }
    states = {now: state.trees[old] for now, old in numbers.items() if old in state.trees}
    return replace(state, trees=states, definitions=stored), trees


def _stored_numbers(
    stored: Mapping[int, StoredDefinition], definitions: Mapping[int, TreeDefinition]
) -> dict[int, int]:
    """Returns the number under which each tree of a plan is stored."""
    left = dict(stored)
    numbers: dict[int, int] = {}
    others: list[str] = []
    for number, known in definitions.items():
        same = [old for old, tree in left.items() if tree.digest == known.digest]
        if same:
            numbers[number] = same[0]
            del left[same[0]]
        else:
            others += known.queries
    if others or left:
        what = ", ".join(map(repr, others)) or "one or more that are missing"
        raise RunError(
            f"the checkpoint of this stream has the state of other queries: it differs by {what}. "
            f"A stream of mt.stream goes on with the same queries, types, buckets and "
            f"spark.sql.ansi.enabled; start it with those or with a new checkpoint, or use "
            f"mt.start, whose queries can change"
        )
    return numbers
