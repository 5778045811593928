"""Sections about where the spread comes from, what goes with low scores, and what to do next."""

from __future__ import annotations

from segcv.reporting.evidence import Evidence
from segcv.reporting.figures import detectable_figure, feature_figure, variance_figure
from segcv.reporting.frames import frame_table
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Bullets, Cell, Paragraph, Section, Table, number, text
from segcv.reporting.sentences import column, say
from segcv.statistics import PARTS, Components, Estimate, FeatureTests, Summary

SHOWN_FEATURES = 3
WHY_ONE = "one statistic of the scores at hand"


def variance(evidence: Evidence) -> Section:
    """Components of variance and their share of the spread over folds, with the sentence that says what to do next."""
    sources = evidence.summary.sources if evidence.summary is not None else None
    if sources is None:
        return Section(say("variance"), (Paragraph(say("no_variance")),))
    main = sources.components["equal_group"]
    blocks: list[Block] = [
        *_other_policy(evidence.summary, "spread_policy"),
        Paragraph(sources.next_step),
        Paragraph(say("variance_observed", observed=score_text(main.observed_fold_sd),
                      expected=score_text(max(0.0, main.expected_fold_variance) ** 0.5))),
        variance_figure(main), _components(main, "equal_group")]
    blocks += [_components(found, name) for name, found in sources.components.items() if name != "equal_group"]
    blocks.append(Paragraph(main.precision))
    blocks += [Paragraph(sources.groups_test.answer), Paragraph(sources.folds_test.answer),
               Paragraph(say("stability", value=estimate_text(sources.stability)))]
    if evidence.planned is not None and evidence.compared is not None:
        blocks += [detectable_figure(evidence.planned, evidence.compared, effect_sd=evidence.effect_sd),
                   Paragraph(_sentence(evidence.planned.advice)), Paragraph(_sentence(evidence.compared.advice))]
    return Section(say("variance"), tuple(blocks))


def what_goes_with_it(evidence: Evidence) -> Section:
    """Group scores against group features, and against the distance from the training groups."""
    sources = evidence.summary.sources if evidence.summary is not None else None
    if sources is None or sources.features is None:
        return Section(say("features"), (Paragraph(say("no_features")),))
    blocks: list[Block] = [*_other_policy(evidence.summary, "features_policy"),
                           _features(sources.features, "features", say("feature_ranks"))]
    if evidence.features is not None and len(sources.features.table) and evidence.summary is not None:
        shown = [str(name) for name in sources.features.table["feature"] if name in evidence.features][:SHOWN_FEATURES]
        blocks.insert(0, feature_figure(evidence.summary, evidence.features[shown]))
    if sources.regression is not None:
        blocks.append(_features(sources.regression, "regression", say("feature_regression")))
    if sources.decay is not None:
        blocks += [Paragraph(say("decay", slope=estimate_text(sources.decay.slope),
                                 spread=estimate_text(sources.decay.spread_slope)))]
        if len(sources.decay.strata):
            blocks.append(frame_table(sources.decay.strata, name="decay", title=say("decay_strata"),
                                      why="a stratum of groups; its interval is in its columns"))
        if sources.decay.note:
            blocks.append(Paragraph(sources.decay.note))
    return Section(say("features"), tuple(blocks))


def advice(evidence: Evidence) -> Section:
    """What to do, each piece with the evidence that speaks for it; and the patterns that were found."""
    summary = evidence.summary
    sources = summary.sources if summary is not None else None
    if summary is None or sources is None:
        return Section(say("advice"), (Paragraph(say("no_variance")),))
    blocks: list[Block] = [*_other_policy(summary, "spread_policy"), Paragraph(sources.next_step)]
    for piece in sources.advice:
        blocks += [Paragraph(say("advice_piece", action=_sentence(piece.action), how=piece.how), strong=True),
                   Bullets(tuple(map(_sentence, piece.because)))]
    if not sources.advice:
        blocks.append(Paragraph(say("no_advice")))
    if sources.diagnoses:
        blocks += [Paragraph(say("diagnoses")),
                   Bullets(tuple(f"{found.what} ({found.evidence})" for found in sources.diagnoses))]
    return Section(say("advice"), tuple(blocks))


def _other_policy(summary: Summary | None, sentence: str) -> tuple[Paragraph, ...]:
    """Which score the sources are of and what it is, where it is not the headline's."""
    if summary is None or summary.policy == "truth":
        return ()
    own = summary.averages.loc[summary.averages["average"] == "equal_group", "truth"]
    return (Paragraph(say(sentence, unit=summary.headline.unit, truth=score_text(float(own.iloc[0])),
                          headline=score_text(summary.headline.value), policy=summary.policy)),)


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:]


def _components(found: Components, name: str) -> Table:
    rows = tuple((text(say(f"axis_{part}")), _variance(getattr(found, part)), number(found.sd(part)),
                  _share(found.shares.get(part))) for part in PARTS)
    return Table(f"components {name}", tuple(map(column, ("part", "variance", "SD", "share_of_spread"))),
                 rows,
                 say("components_of", target=name, groups=found.groups, columns=found.columns),
                 "not identifiable with these runs")


def _variance(found: Estimate) -> Cell:
    return Cell(found.value, "number", found.low, found.high, "" if found.has_interval else found.note)


def _share(share: Estimate | None) -> Cell:
    if share is None:
        return text("")
    return Cell(share.value, "percent", share.low, share.high, "" if share.has_interval else share.note)


def _features(tests: FeatureTests, name: str, title: str) -> Block:
    if tests.table.empty:
        return Paragraph(tests.note or say("no_features"))
    return frame_table(tests.table, name=name, title=title, why=WHY_ONE,
                       formats={column: "number" for column in tests.table.columns if column not in ("feature",)})
