"""Tables of MLPerf measurements as the wire shows them."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.model import mlperf as model
from millpond.wire import mlperf as wire


def tables(found: Sequence[model.MlperfTable]) -> wire.MlperfTables:
    shown = [_table(one) for one in found]
    measured = sum(result is not None for table in shown for row in table.rows for result in row.results)
    return wire.MlperfTables(measured=measured, tables=shown)


def _table(value: model.MlperfTable) -> wire.MlperfTable:
    measure, said = model.MEASURES[value.scenario], model.DOCUMENT.get(value.scenario)
    return wire.MlperfTable(
        scenario=value.scenario,
        title=measure.title,
        unit=measure.unit,
        higher_is_better=measure.higher_is_better,
        setups=[
            wire.MlperfSetup(servers=one.servers, storage=one.storage, protocol=one.protocol) for one in value.setups
        ],
        rows=[_row(one) for one in value.rows],
        document=wire.MlperfFigure(shared_to_local=said.shared_to_local, two_to_one=said.two_to_one) if said else None,
    )


def _row(value: model.MlperfRow) -> wire.MlperfRow:
    return wire.MlperfRow(
        task=value.task,
        title=value.title,
        model=value.model,
        dataset=value.dataset,
        results=[_result(one) if one else None for one in value.results],
        shared_to_local=value.shared_to_local,
        two_to_one=value.two_to_one,
    )


def _result(value: model.Measurement) -> wire.MlperfResult:
    return wire.MlperfResult(
        run=value.run,
        at=value.at,
        model=value.model,
        value=value.value,
        valid=value.is_valid,
        reason=value.reason,
        p99_ms=value.p99_ms,
        ready_seconds=value.ready_seconds,
        quality=value.quality,
        official=value.is_official,
    )
