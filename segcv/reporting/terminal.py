"""The report's most important numbers as the few rows that a terminal shows."""

from __future__ import annotations

from segcv.reporting.answer import second_reader, short_name
from segcv.reporting.evidence import Evidence, fold_score
from segcv.reporting.markdown import visible
from segcv.reporting.numbers import score_text
from segcv.reporting.sentences import column, in_language, say
from segcv.statistics import Estimate

Row = tuple[str, str, str]


def terminal_rows(evidence: Evidence, *, language: str = "en") -> tuple[Row, ...]:
    """what, value, interval (or why there is none), from the number to expect to what it stands beside."""
    with in_language(language):
        return tuple((_plain(what), value, _plain(sure)) for what, value, sure in _rows(evidence))


def _rows(evidence: Evidence) -> tuple[Row, ...]:
    if evidence.summary is None:
        return tuple(_row(each.candidate, each.mean) for each in evidence.results)
    summary = evidence.summary
    rows = [_row(say("row_expected", unit=summary.headline.unit), summary.headline),
            _row(say("row_bounded"), summary.bounded), _row(say("row_recipe"), summary.recipe)]
    if evidence.with_excluded is not None:
        rows.append(_row(say("row_with_excluded"), evidence.with_excluded))
    if len(summary.groups):
        worst = summary.groups.iloc[0]
        rows.append((say("row_worst", group=short_name(worst["group_id"])), score_text(float(worst["score"])),
                     say("row_one_group")))
    folds = summary.fold_statistics
    rows.append((say("row_sd", folds=folds.folds, score=column(fold_score(summary))), score_text(folds.sd_over_folds),
                 say("row_sd_mean", mean=score_text(folds.mean))))
    if summary.leak is not None:
        rows.append(_row(say("row_random"), summary.leak.random))
    if summary.trivial is not None:
        rows.append(_row(say("row_trivial"), summary.trivial))
    reader = second_reader(summary)
    return (*rows, *([_row(say("row_reader"), reader[0])] if reader is not None else []))


def _row(what: str, estimate: Estimate) -> Row:
    sure = (f"{score_text(estimate.low)} .. {score_text(estimate.high)}" if estimate.has_interval
            else say("no_interval", why=estimate.note))
    return what, score_text(estimate.value), sure


def _plain(words: str) -> str:
    """Names with control signs could steer the terminal; those are shown as what they are."""
    return "".join(map(visible, words))
