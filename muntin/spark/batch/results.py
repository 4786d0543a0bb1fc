"""`Results`: the answers of a bound plan, computed in the passes that the plan has."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from pyspark.sql import DataFrame

from muntin.errors import RunError, nearest
from muntin.model.query import Family, PlainQuery, Query
from muntin.optimizer.optimize import optimize
from muntin.optimizer.price_plan import price_plan
from muntin.optimizer.strategies import UNSHARED
from muntin.spark.batch.data_window_answers import DataWindowAnswers
from muntin.spark.batch.periodic_answers import PeriodicAnswers
from muntin.spark.batch.shared_answers import SharedAnswers
from muntin.spark.batch.write import WriteTo
from muntin.spark.binding.bind_batch import bind_batch
from muntin.spark.binding.bound_tree import BoundPeriodicTree, BoundPlan
from muntin.spark.binding.estimate import with_facts
from muntin.spark.binding.relations import Relations
from muntin.spark.display import few_names, html_table
from muntin.spark.engine.plan_reuse import store
from muntin.spark.engine.settings import SettingsOfAnalysis
from muntin.spark.output.stacking import (
    QUERY,
    check_names,
    stack_by_columns,
    union_long_form,
    with_query_name,
)


class Results(Mapping[str, DataFrame]):
    """The answers by query name, each an ordinary DataFrame.

    The first action that needs a tree's slices computes them. Spark stores them for the next, until
    `release()` or the end of a `with` block, and also relations that several passes would compute.
    If queries that share may fail for some event, their slices are computed when the first of them
    is used. If that fails, they are answered one by one, so that only those fail that would fail
    alone.
    """

    def __init__(self, bound: BoundPlan, relations: Relations) -> None:
        self._bound = bound
        self._relations = relations
        # Answers are made later, under the settings of now.
        self._settings = SettingsOfAnalysis(relations.session)
        self.plan = bound.plan
        # Before any statement over them is analysed.
        self._stored = [
            store(self._relations.rows_to_store(each)) for each in self.plan.stored_relations
        ]
        families: dict[Family, list[BoundPeriodicTree]] = {}
        for tree in bound.periodic_trees:
            families.setdefault(tree.tree.grouping.family, []).append(tree)
        shared = (bound.plan, relations, self._answer_alone)
        self._shared: list[SharedAnswers] = [
            *(PeriodicAnswers(trees, *shared) for trees in families.values()),
            *(DataWindowAnswers([tree], *shared) for tree in bound.data_trees),
        ]
        self._answers: dict[str, DataFrame] = {}
        for query in self.plan.plain_queries:
            self._answers[query.name] = self._relations.check(query)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self:
            raise RunError(f"no query is called {name!r}; {nearest(name, list(self))}")
        if name not in self._answers:
            shared = next(each for each in self._shared if name in each.queries)
            with self._settings.restore():
                self._answers[name] = shared.answer(name)
        return self._answers[name]

    def _answer_alone(self, name: str) -> DataFrame:
        """Returns the answer to a query that shares with one that fails.

        Queries that cannot fail share among themselves; any other is answered by itself.
        """
        # The stored relations may be what fails.
        self._release_relations()
        if self._safe_results is not None and name in self._safe_results:
            return self._safe_results[name]
        return self._results_of([self.plan.query(name)], UNSHARED)[name]

    def _answer_alone_if_shared(self, name: str) -> DataFrame | None:
        if isinstance(self.plan.query(name), PlainQuery):
            return None
        with self._settings.restore():
            return self._answer_alone(name)

    @cached_property
    def _safe_results(self) -> "Results | None":
        """The answers to the sharing queries that cannot fail; None if there are none."""
        by_spark = {name for tree in self.plan.periodic_trees for name in tree.combined_by_spark}
        safe = [
            query
            for query in self.plan.queries
            if isinstance(query, Query)
            and query.name in self.plan.sharing_queries
            and not by_spark.intersection(part.name for part in query.parts)
            and not self._relations.may_fail(query.parts)
        ]
        return self._results_of(safe, self.plan.strategy) if safe else None

    def _results_of(self, queries: Sequence[Query | PlainQuery], strategy: str) -> "Results":
        plan = optimize(self.plan.workload_of(queries), strategy)
        frames = self._relations.frames_of(queries)
        relations = Relations(frames, queries, for_later=True)
        return Results(bind_batch(plan, relations), relations)

    def __iter__(self) -> Iterator[str]:
        return iter(query.name for query in self.plan.queries)

    def __len__(self) -> int:
        return len(self.plan.queries)

    def __contains__(self, name: object) -> bool:
        return any(query.name == name for query in self.plan.queries)

    def explain(self) -> str:
        """Returns the plan that runs as text, with its costs for the rate and keys of the data.

        These are read off the data's first rows, in one small Spark job, unless they are known or
        the data is not cheap to look at. `plan.explain()` runs no job.
        """
        if self.plan.workload.rate_known and self.plan.workload.keys_known:
            return self.plan.explain()
        work = with_facts(self.plan.workload_of(self.plan.queries), self._relations)
        return (price_plan(self.plan, work) if work.rate_known else self.plan).explain()

    def to_sql(self, name: str | None = None, *, together: bool = False) -> str:
        """The plan as Spark SQL, as `Plan.to_sql`, with the types of this data."""
        types = {
            aggregate: bound.types[aggregate].simpleString()
            for bound in self._bound.periodic_trees
            for aggregate in bound.tree.aggregates
        }
        return self.plan.to_sql(name, together=together, types=types)

    def together(self, column: str = QUERY) -> DataFrame:
        """The long form: all answers in one DataFrame, computed in one pass per tree.

        The first column, `query` unless another name is given, has the query's name; then come the
        columns of all queries by name, null where a query has no such column.
        """
        shared = [query for query in self.plan.queries if isinstance(query, Query)]
        check_names({query.name: [each.name for each in query.columns] for query in shared}, column)
        check_names(
            {query.name: self[query.name].columns for query in self.plan.plain_queries}, column
        )
        with self._settings.restore():
            frames = [frame for each in self._shared for frame in each.long_form(column)]
            frames += [
                with_query_name(query.name, self[query.name], column)
                for query in self.plan.plain_queries
            ]
            return union_long_form(frames)

    def write(
        self,
        directory: str,
        *,
        format: str = "parquet",
        mode: str = "error",
        flatten: bool = False,
        **options: str,
    ) -> None:
        """Write every answer to a folder of its query's name, in few jobs.

        Parquet files of all queries over a relation are written by one job, unless you give
        options, flatten, or have columns of nested types; else a job writes the answers of all
        queries with the same columns.

        `mode` is "error" (the default: refuse if a folder is there), "overwrite" or "append".
        `flatten` writes the fields of structs as columns: `window_start` and `window_end` instead
        of `window`. Files of csv, which have no place for structs, are always flat.
        Nothing is put in place before everything has been computed and written. If some queries
        fail, the answers to the others are written, and an error names those that failed.
        """
        to = WriteTo(
            self._relations.session,
            directory,
            format=format,
            mode=mode,
            is_flat=flatten,
            options=options,
        )
        try:
            with self._settings.restore():
                stacks = [stack for each in self._shared for stack in each.stacks(to.fits_one_job)]
                # A plain query may have an order, which is that of its files.
                for query in self.plan.plain_queries:
                    stacks += stack_by_columns({query.name: self[query.name]})
            to.write(stacks, list(self), self._answer_alone_if_shared)
        finally:
            for each in self._shared:
                each.release_answers()

    def __repr__(self) -> str:
        return f"<Results of {few_names(list(self))}: {self.plan.headline}>"

    def _repr_html_(self) -> str:
        rows = [
            (query.name, query.window or "", self._how_answered(query))
            for query in self.plan.queries
        ]
        return html_table(f"Results: {self.plan.headline}", ("query", "window", "answered"), rows)

    def _how_answered(self, query: Query | PlainQuery) -> str:
        if isinstance(query, PlainQuery):
            return f"by Spark alone: {query.reason}"
        return "shared" if query.name in self.plan.sharing_queries else "alone"

    def release(self) -> None:
        """Free Spark's storage; the DataFrames stay valid, and are computed again."""
        for each in self._shared:
            each.release()
        self._release_relations()
        safe: Results | None = self.__dict__.get("_safe")
        if safe is not None:
            safe.release()

    def _release_relations(self) -> None:
        """Free the relations that several passes read."""
        for frame in self._stored:
            frame.unpersist()
        self._stored.clear()

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
