"""The table of storages: the running half of each representation."""

from muntin.aggregates.aggregate import Component
from muntin.aggregates.representations import (
    ArgExtremes,
    CheckedSums,
    CodedValues,
    DecimalSums,
    Numbers,
    Registers,
    Representation,
    SetsOfValues,
    UserNumbers,
)
from muntin.runtime.storage.coded_values import ChosenStorage, CodedStorage, DecimalSumStorage
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.runtime.storage.numbers import CheckedSumStorage, NumberStorage
from muntin.runtime.storage.registers import RegisterStorage
from muntin.runtime.storage.sets_of_values import SetStorage
from muntin.runtime.storage.user_numbers import UserStorage

STORAGES: dict[type[Representation], type[ComponentStorage]] = {
    Numbers: NumberStorage,
    CheckedSums: CheckedSumStorage,
    UserNumbers: UserStorage,
    CodedValues: CodedStorage,
    DecimalSums: DecimalSumStorage,
    ArgExtremes: ChosenStorage,
    SetsOfValues: SetStorage,
    Registers: RegisterStorage,
}


def component_storage(
    component: Component, *, value_type: str, name: str, ansi: bool
) -> ComponentStorage:
    """Returns the storage of a component for values of a type.

    `name` is its column, or the stem of its columns. With `ansi`, integer sums detect overflow, as
    Spark's do under ANSI.
    """
    representation = component.part.representation(value_type, ansi=ansi)
    return STORAGES[type(representation)](
        component=component,
        value_type=value_type,
        representation=representation,
        columns=representation.columns(name),
    )
