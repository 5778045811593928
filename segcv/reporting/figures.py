"""Figures of a report: what to draw, its numbers as a table, its meaning in words; colours for the colour blind too."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from segcv.reporting.evidence import fold_score
from segcv.reporting.markdown import visible
from segcv.reporting.section import Figure
from segcv.reporting.sentences import column, language_code, say
from segcv.statistics import Components, Estimate, Plan, Summary

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#767676"
INK = "#1b1f24"
PARTS = {"group": BLUE, "image": "#56B4E9", "interaction": PURPLE, "residual": "#F0E442", "model": ORANGE}
MOST_GROUPS = 60
FONTS = {"zh": ["Noto Sans CJK SC", "WenQuanYi Zen Hei", "Microsoft YaHei", "PingFang SC", "SimHei", "DejaVu Sans"]}


def rendered(figure: Figure) -> tuple[str, bytes]:
    """The figure as SVG text (same numbers, same bytes) and as PNG."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    family = FONTS.get(language_code(), "sans-serif")
    with _any_font(), matplotlib.rc_context({
            "svg.hashsalt": "segcv", "svg.fonttype": "none", "font.size": 9, "font.family": family,
            "axes.spines.top": False, "axes.spines.right": False}):
        canvas = Canvas(figsize=(figure.width, figure.height), layout="constrained")
        figure.draw(canvas)
        svg, png = io.StringIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        canvas.savefig(png, format="png", dpi=150, metadata={"Software": None})
    text = svg.getvalue()
    return text[text.index("<svg"):], png.getvalue()


@contextmanager
def _any_font() -> Iterator[None]:
    """Silence about fonts that are not installed: the SVG keeps its text, and a browser has the signs."""
    finder = logging.getLogger("matplotlib.font_manager")
    level = finder.level
    finder.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            yield
    finally:
        finder.setLevel(level)


def variance_figure(found: Components) -> Figure:
    """Stacked shares of the expected variance of fold scores, with intervals, and the observed SD of folds."""
    shares = {name: found.shares[name] for name in PARTS if name in found.shares}
    total = max(0.0, found.expected_fold_variance)
    data = pd.DataFrame([{"part": name, "share": each.value, "low": each.low, "high": each.high,
                          "variance": max(0.0, each.value) * total if np.isfinite(each.value) else np.nan}
                         for name, each in shares.items()])

    seen = found.observed_fold_sd**2 / total if total > 0 and np.isfinite(found.observed_fold_sd) else np.nan

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        left = 0.0
        for place, (name, each) in enumerate(shares.items(), start=1):
            if not np.isfinite(each.value):
                axes.text(0.01, place, say("not_identifiable"), va="center", color=INK)
                continue
            for row, start in ((0, left), (place, 0.0)):
                axes.barh(row, max(0.0, each.value), left=start, color=PARTS[name], height=0.6, edgecolor="white")
            left += max(0.0, each.value)
            if each.has_interval:
                axes.plot([each.low, each.high], [place, place], color="black", lw=1.2)
            axes.text(max(each.value, each.high if each.has_interval else 0.0, 0.0) + 0.02, place,
                      f"{100 * each.value:.0f} %", va="center")
        if np.isfinite(seen):
            axes.plot(seen, 0, "o", color="black", mec="white", ms=8, clip_on=False, zorder=5)
        axes.set_yticks(range(len(shares) + 1), [say("axis_all_parts"), *(say(f"axis_{name}") for name in shares)])
        axes.set_xlim(0, max(1.12, 1.05 * seen if np.isfinite(seen) else 0.0))
        axes.invert_yaxis()
        axes.set_xlabel(say("axis_share", observed=f"{found.observed_fold_sd:.3f}", expected=f"{total ** 0.5:.3f}"))

    told = ", ".join(f"{name} {100 * each.value:.0f} %" for name, each in shares.items() if np.isfinite(each.value))
    return Figure("variance", say("figure_variance"), f"{say('figure_variance')}: {told}.", data, draw, height=2.8)


def strip_figure(summary: Summary) -> Figure:
    """One dot per run: folds side by side."""
    name = fold_score(summary)
    shown = column(name)
    data = summary.fold_table[["repeat", "fold", "seed", name]].rename(columns={name: "score"})

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        passes = data.groupby(["repeat", "seed"]).ngroup()
        spread = (passes - passes.mean()) / max(1, passes.nunique()) * 0.5
        axes.scatter(data["fold"] + spread, data["score"], color=BLUE, s=22, alpha=0.85, edgecolors="none")
        for fold in sorted(data["fold"].unique().tolist()):
            mean = data.loc[data["fold"].eq(fold), "score"].mean()
            axes.plot([fold - 0.35, fold + 0.35], [mean, mean], color="black", lw=1)
        axes.set_xticks(sorted(data["fold"].unique()))
        axes.set_xlabel(say("axis_fold"))
        axes.set_ylabel(shown)

    low, high = data["score"].min(), data["score"].max()
    return Figure("folds", say("figure_strip"), f"{say('figure_strip')}: {low:.3f} - {high:.3f}.", data, draw)


def groups_figure(summary: Summary) -> Figure:
    """Groups from the hardest: mean, spread over columns, size."""
    spread = "sd_over_columns" if "sd_over_columns" in summary.groups else None
    kept = ["group_id", "score", "images"] + ([spread] if spread else [])
    data = summary.groups[kept].head(MOST_GROUPS)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        place = np.arange(len(data))
        if spread is not None:
            axes.errorbar(data["score"], place, xerr=data[spread].fillna(0.0), fmt="none", ecolor=GREY, lw=1)
        axes.scatter(data["score"], place, s=12 + 60 * np.sqrt(data["images"] / data["images"].max()), color=BLUE,
                     alpha=0.85, edgecolors="none")
        axes.axvline(summary.headline.value, color=ORANGE, lw=1)
        axes.set_yticks(place, [shortened(name) for name in data["group_id"]])
        axes.invert_yaxis()
        axes.set_xlabel(summary.headline.unit)

    worst = f"{shortened(data['group_id'].iloc[0])} {data['score'].iloc[0]:.3f}" if len(data) else ""
    return Figure("groups", say("figure_groups"), f"{say('figure_groups')}: {worst} ...", data, draw,
                  height=max(2.2, 0.8 + 0.2 * len(data)))


def ladder_figure(summary: Summary) -> Figure:
    """Intervals under each other: to be read, bounded, and the naive one greyed."""
    naive = summary.fold_statistics
    rungs: list[tuple[str, Estimate | None, float, float, float, str]] = []
    for name, each, colour in ((say("axis_these_models"), summary.headline, BLUE),
                               (say("axis_recipe"), summary.recipe, GREEN),
                               (say("axis_bounded"), summary.bounded, ORANGE)):
        rungs.append((name, each, each.value, each.low, each.high, colour))
    mean, sd = naive.mean, naive.sd_over_folds
    rungs.append((say("axis_mean_sd", score=column(fold_score(summary))), None, mean, mean - sd, mean + sd, GREY))
    data = pd.DataFrame([{"what": name, "value": value, "low": low, "high": high}
                         for name, _, value, low, high, _ in rungs])

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for place, (_, _, value, low, high, colour) in enumerate(rungs):
            if np.isfinite([low, high]).all():
                axes.plot([low, high], [place, place], color=colour, lw=3, solid_capstyle="butt")
            if np.isfinite(value):
                axes.plot(value, place, "o", color=colour)
        axes.set_yticks(range(len(rungs)), [name for name, *_ in rungs])
        axes.invert_yaxis()
        axes.set_xlabel(summary.headline.unit)

    told = ", ".join(f"{name} {value:.3f} ({low:.3f} - {high:.3f})" for name, _, value, low, high, _ in rungs)
    return Figure("intervals", say("figure_ladder"), f"{say('figure_ladder')}: {told}.", data, draw, height=2.2)


def weight_figure(summary: Summary) -> Figure:
    """Lorenz curve: share of images in the smallest groups."""
    sizes = np.sort(summary.groups["images"].to_numpy(float))
    data = pd.DataFrame({"groups": np.arange(len(sizes) + 1) / max(1, len(sizes)),
                         "images": np.concatenate([[0.0], sizes.cumsum()]) / max(1.0, sizes.sum())})

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.plot([0, 1], [0, 1], color=GREY, lw=1)
        axes.plot(data["groups"], data["images"], color=BLUE)
        axes.set_xlabel(say("axis_groups"))
        axes.set_ylabel(say("axis_images"))

    return Figure("weights", say("figure_weight"), f"{say('figure_weight')}: "
                  f"{100 * summary.profile.largest_share:.0f} %.", data, draw, width=3.6, height=3.0)


def detectable_figure(planned: Plan, compared: Plan, *, effect_sd: float) -> Figure:
    """Half-width of the interval and smallest detectable difference by groups, a line per number of seeds."""
    parts = {"half_width": planned, "detectable": compared}
    data = pd.concat([each.table[["groups", "columns"]].assign(what=what, value=each.table[each.table.columns[3]])
                      for what, each in parts.items()], ignore_index=True)
    styles = list(zip((GREY, BLUE, GREEN, ORANGE, PURPLE, RED), "osD^v<", strict=True))

    def draw(canvas: Any) -> None:
        for axes, (what, each) in zip(canvas.subplots(1, 2), parts.items(), strict=True):
            for (colour, sign), (columns, rows) in zip(styles, data[data["what"].eq(what)].groupby("columns"),
                                                       strict=False):
                axes.plot(rows["groups"], rows["value"], marker=sign, ms=3, lw=1, color=colour, label=f"{columns}")
            axes.axhline(each.floor, color="black", lw=0.8, ls=":")
            axes.set_xscale("log")
            axes.set_xlabel(say("axis_number_of_groups"))
            axes.set_title(say(f"axis_{what}"), fontsize=9, loc="left")
            axes.set_ylim(0)
        axes.legend(title=say("axis_columns"), frameon=False, fontsize=8)

    title = say("figure_detectable", effect=f"{effect_sd:g}")
    return Figure("detectable", title, f"{title}: {planned.reached:.3f}, {planned.floor:.3f}; {compared.reached:.3f}, "
                  f"{compared.floor:.3f}.", data, draw, width=8.0)


def profile_figure(summary: Summary) -> Figure:
    """Share of images and of groups above each score."""
    rows = []
    for what, scores in (("images", summary.images["score"]), ("groups", summary.groups["score"])):
        values = np.sort(scores.dropna().to_numpy(float))
        rows += [{"of": what, "score": value, "share": 1 - place / len(values)} for place, value in enumerate(values)]
    data = pd.DataFrame(rows, columns=["of", "score", "share"])

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for what, colour in (("images", BLUE), ("groups", ORANGE)):
            part = data[data["of"].eq(what)]
            axes.step(part["score"], part["share"], where="post", color=colour, label=what)
        axes.set_xlabel(summary.headline.unit)
        axes.set_ylabel(say("axis_above"))
        axes.set_ylim(0, 1.02)
        axes.legend(frameon=False)

    return Figure("profile", say("figure_profile"), f"{say('figure_profile')}.", data, draw)


def confusion_figure(pixels: pd.DataFrame) -> Figure:
    """Row-normalised confusion; `pixels`: true classes x predicted classes, counts."""
    counts = pixels.to_numpy(float)
    share = np.divide(counts, counts.sum(axis=1, keepdims=True), out=np.full(counts.shape, np.nan),
                      where=counts.sum(axis=1, keepdims=True) > 0)
    data = pixels.rename_axis("truth").reset_index()

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        axes.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (row, at), value in np.ndenumerate(share):
            if np.isfinite(value) and len(counts) <= 12:
                axes.text(at, row, f"{value:.2f}\n{int(counts[row, at]):,}", ha="center", va="center",
                          fontsize=7, color="white" if value > 0.55 else "black")
        axes.set_xticks(range(len(pixels.columns)), [shortened(name) for name in pixels.columns], rotation=30,
                        ha="right")
        axes.set_yticks(range(len(pixels.index)), [shortened(name) for name in pixels.index])
        axes.set_xlabel(say("axis_predicted"))
        axes.set_ylabel(say("axis_truth"))

    side = min(9.0, 2.5 + 0.75 * len(pixels.columns))
    return Figure("confusion", say("figure_confusion"), f"{say('figure_confusion')}.", data, draw, width=side,
                  height=max(2.4, 0.75 * side))


def feature_figure(summary: Summary, features: pd.DataFrame) -> Figure:
    """Group score against each column of `features` (indexed by group_id), side by side."""
    data = summary.groups[["group_id", "score"]].merge(features.reset_index(), on="group_id", how="left")
    names = list(features.columns)

    def draw(canvas: Any) -> None:
        panels = canvas.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            axes.scatter(data[name], data["score"], color=BLUE, s=18, alpha=0.85, edgecolors="none")
            axes.set_xlabel(shortened(name))
            axes.locator_params(axis="x", nbins=4)
        panels[0].set_ylabel(summary.headline.unit)

    shown = ", ".join(shortened(name) for name in names)
    return Figure("features", say("figure_features"), f"{say('figure_features')}: {shown}.", data, draw,
                  width=2.4 + 2.2 * len(names), height=2.8)


def shortened(name: object, length: int = 24) -> str:
    """A name that fits an axis; nothing in it is markup for matplotlib."""
    text = "".join(visible(sign) for sign in str(name)).replace("$", r"\$")
    if not text.strip():
        return say("blank")
    return text if len(text) <= length else f"{text[:length // 2]}…{text[-length // 2 + 1:]}"
