"""python -m segcv.compare candidates=[a,b]: better, worse or not separable, and what could have been seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segcv.config import command, progress_bar
from segcv.errors import ConfigError, ScoreError
from segcv.report_settings import CompareCommand
from segcv.settings import TARGETS

if TYPE_CHECKING:
    import pandas as pd

    from segcv.reporting import ComparisonEvidence, Picture
    from segcv.splits import Split
    from segcv.statistics import Candidate, CandidatesComparison, Estimate, Pair
    from segcv.sweeps import Sweep

GATES = ("better", "not_worse")
PAIRS_SHOWN = 6              # pairs whose changed images are shown as pictures


@command("compare")
def main(settings: CompareCommand) -> None:
    """Compare finished runs of several candidates, or their fold scores; with a gate, exit 1 when it is not passed."""
    refuse_settings(settings)
    from segcv.reporting import write_comparison

    evidence = evidence_of_results(settings) if settings.results is not None else evidence_of_runs(settings)
    folder = Path(settings.out) if settings.out else (
        Path("comparison") if settings.results else Path(settings.runs) / "comparison")
    path = write_comparison(folder, evidence, html=settings.report.html, language=settings.report.language)
    for line in said(evidence):
        print(line)
    print(f"Report: {path}")
    if settings.report.html:
        print(f"Page:   {path.with_suffix('.html')}")
    failed = [f"{name}: {text}" for name, text in evidence.gate.items() if not text.startswith("passed")]
    if failed:
        raise ScoreError("gate not passed; " + "; ".join(failed))


def evidence_of_results(settings: CompareCommand) -> ComparisonEvidence:
    """What a plain table of fold scores says of each pair."""
    from segcv.reporting import ComparisonEvidence
    from segcv.statistics import compare_all_results, read_results, summarise_results

    table, unit = read_results(Path(str(settings.results)))
    summarise_results(table[table["candidate"].isin(settings.candidates)], folds=settings.folds, seeds=settings.seeds,
                      level=settings.level, unit=unit)
    return ComparisonEvidence(results=compare_all_results(table, settings.candidates, folds=settings.folds,
                                                          level=settings.level, unit=unit))


def evidence_of_runs(settings: CompareCommand) -> ComparisonEvidence:
    """What the runs of the candidates say of each pair, with the groups and images that differ most."""
    from segcv.reporting import ComparisonEvidence, changed_images, pair_name
    from segcv.statistics import candidate, check_complete, column_weights, compare_candidates, own_seeds
    from segcv.sweeps import legend_of, named_sweep, scores_of, split_of, table_of

    runs = Path(settings.runs)
    sweeps = {name: named_sweep(runs, name) for name in settings.candidates}
    splits = {name: split_of(sweep[0]) for name, sweep in sweeps.items()}
    for name, sweep in sweeps.items():
        seeds = settings.seeds if settings.seeds is not None else sorted({record.seed for record in sweep})
        check_complete(table_of(sweep), folds=splits[name].folds, repeats=splits[name].repeats, seeds=seeds,
                       own=settings.seeds is None and own_seeds(table_of(sweep)))
    scores = {name: scores_of(runs, sweep, splits[name]) for name, sweep in sweeps.items()}
    tried = [candidate(name, scores[name], table_of(sweep), class_names=splits[name].class_names)
             for name, sweep in sweeps.items()]
    first = splits[settings.candidates[0]]
    found = compare_candidates(tried, metric=settings.metric, target=settings.target or first.target,
                               level=settings.level, power=settings.power,
                               weights=column_weights(first.images, settings.weights) if settings.weights else None)
    own = {each.name: own_tables(each, settings.metric) for each in tried}
    pairs = [(pair.overall.first, pair.overall.second) for pair in found.pairs]
    changed = {(one, two): changed_images(own[one][1], own[two][1]) for one, two in pairs}
    return ComparisonEvidence(
        found=found, legend=legend_of(first),
        pictures={pair_name(one, two): pictures_of(settings, (sweeps[one], sweeps[two]), first, own[one][1],
                                                   changed[one, two], scores[one])
                  for one, two in pairs[:PAIRS_SHOWN] if settings.report.html and settings.report.pictures},
        groups={pair_name(one, two): group_differences(own[one][0], own[two][0]) for one, two in pairs},
        changed={pair_name(one, two): changed[one, two] for one, two in pairs},
        gate=gate_of(settings, found),
        unproven=tuple(name for name, sweep in sweeps.items() if not all(record.held_out_proof for record in sweep)),
        fingerprints={"split_id": found.split_id, "data_id": found.data_id})


def pictures_of(settings: CompareCommand, sweeps: tuple[Sweep, Sweep], split: Split, images: pd.DataFrame,
                changed: pd.DataFrame, scores: pd.DataFrame) -> tuple[Picture, ...]:
    """Small pictures of the images that changed most, with both predictions and where they differ."""
    from segcv.reporting import Picture
    from segcv.sweeps import cut_differences

    names = tuple(sweep[0].candidate for sweep in sweeps)
    rows = changed[["image_id"]].merge(images[["image_id", "group_id", "fold", "score"]], on="image_id")
    found = cut_differences(Path(settings.runs), sweeps, split, rows, scores, progress=progress_bar)
    both = {name: f"{names[0]} {first:.3f}, {names[1]} {second:.3f}" for name, first, second in
            changed[["image_id", "score_first", "score_second"]].itertuples(index=False)}
    called = dict(zip(("first", "second"), names, strict=True))
    return tuple(Picture(one.image_id, one.group_id, str(one.fold), one.classes, one.score, one.why,
                         tuple((called.get(name, name), data) for name, data in one.panels), (), both[one.image_id])
                 for one in found)


def own_tables(each: Candidate, metric: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A candidate's group scores and image scores under the policy truth, seeds and repeats averaged."""
    from segcv.metrics import image_scores
    from segcv.statistics import group_scores, group_table, image_means

    per_image = image_scores(each.scored.counts, metric=metric, policy="truth")
    return group_table(group_scores(each.scored, per_image)), image_means(each.scored, per_image)


def group_differences(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """group_id, images, both scores and their difference, from the worst for the first to the best."""
    both = first[["group_id", "images", "score"]].merge(second[["group_id", "score"]], on="group_id",
                                                        suffixes=("_first", "_second"))
    both["difference"] = both["score_first"] - both["score_second"]
    return both.sort_values(["difference", "group_id"], ignore_index=True)


def gate_of(settings: CompareCommand, found: CandidatesComparison) -> dict[str, str]:
    """What the gate says of every candidate but the first: passed or not, and why."""
    if settings.gate is None:
        return {}
    base = settings.candidates[0]
    return {name: gated(settings, pair, name, base) for pair in found.pairs for name in (
        {pair.overall.first, pair.overall.second} - {base}) if base in (pair.overall.first, pair.overall.second)}


def gated(settings: CompareCommand, pair: Pair, name: str, base: str) -> str:
    """The gate on one candidate: `better` by its verdict, `not_worse` by the whole interval of its difference."""
    if settings.gate == "better":
        return (f"passed: {name} is better than {base}" if pair.verdict == f"{name} better"
                else f"not passed: {pair.verdict}")
    difference = pair.overall.difference
    if not difference.has_interval:
        return f"not passed: no interval of the difference ({difference.note})"
    least = difference.low if pair.overall.first == name else -difference.high
    worse_alarms = pair.false_alarms is not None and pair.false_alarms.p_value < 1 - settings.level and (
        (pair.false_alarms.difference.value > 0) == (pair.overall.first == name))
    if worse_alarms:
        return f"not passed: the false alarms of {name} are worse"
    if least >= -settings.margin:
        return f"passed: {name} is at worst {max(0.0, -least):.4f} below {base} (margin {settings.margin:g})"
    return f"not passed: {name} may be {-least:.4f} below {base}, and the margin is {settings.margin:g}"


def said(evidence: ComparisonEvidence) -> list[str]:
    """What the terminal says of each pair."""
    lines = [pair_line(one.first, one.second, one.mean_difference, one.verdict) for one in evidence.results]
    if evidence.found is not None:
        for pair in evidence.found.pairs:
            one = pair.overall
            lines.append(pair_line(one.first, one.second, one.difference, pair.verdict))
            if pair.weighted is not None:
                also = pair.weighted
                lines.append(f"images by their weights: {also.difference.value:+.4f} ({also.difference.low:+.4f} to "
                             f"{also.difference.high:+.4f}), p {also.p_value:.4f}; {also.verdict}")
    if evidence.unproven:
        lines.append(f"held-out not proven: {', '.join(evidence.unproven)}")
    return [*lines, *(f"gate {name}: {text}" for name, text in evidence.gate.items())]


def pair_line(first: str, second: str, difference: Estimate, verdict: str) -> str:
    """A difference with its interval, or why it has none, and what follows."""
    sure = (f"({difference.low:+.4f} to {difference.high:+.4f})" if difference.has_interval
            else f"(no interval: {difference.note})")
    return f"{first} - {second}: {difference.value:+.4f} {sure}; {verdict}"


def refuse_settings(settings: CompareCommand) -> None:
    """Refuse settings that have no effect or are not known."""
    if settings.target is not None and settings.target not in TARGETS:
        raise ConfigError(f"target={settings.target} is not known; use one of {', '.join(TARGETS)}.")
    if settings.gate is not None and settings.gate not in GATES:
        raise ConfigError(f"gate={settings.gate} is not known; use one of {', '.join(GATES)}.")
    if settings.margin and settings.gate != "not_worse":
        raise ConfigError(f"margin={settings.margin:g} has an effect with gate=not_worse only.")
    if settings.margin < 0:
        raise ConfigError(f"margin={settings.margin:g} must be 0 or more.")
    if len(settings.candidates) < 2 or len(set(settings.candidates)) < len(settings.candidates):
        raise ConfigError(f"candidates=[{','.join(settings.candidates)}]: name two or more different ones.")
    if settings.results is None and settings.folds is not None:
        raise ConfigError(f"folds={settings.folds} has an effect with results=FILE only; runs know their folds.")
    if settings.results is not None and (settings.target or settings.gate or settings.weights):
        raise ConfigError("target, gate and weights need runs; a table of fold scores supports none of them.")


if __name__ == "__main__":
    main()
