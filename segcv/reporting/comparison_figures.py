"""Figures of a comparison: the difference in every group beside what could be seen, and who ranks where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from segcv.reporting.figures import BLUE, GREY, MOST_GROUPS, ORANGE, shortened
from segcv.reporting.section import Figure
from segcv.reporting.sentences import say
from segcv.statistics import Comparison


def differences_figure(table: pd.DataFrame, found: Comparison, *, name: str) -> Figure:
    """A dot per group at its difference; a band where the mean could not be told from 0; the mean with its interval.

    `table` has group_id, images, difference, from the worst for the first candidate to the best; of many groups the
    two ends are drawn.
    """
    ends = MOST_GROUPS // 2
    shown = table if len(table) <= MOST_GROUPS else pd.concat([table.head(ends), table.tail(ends)])
    data = shown[["group_id", "images", "difference"]].reset_index(drop=True)
    mean = found.these_models if found.frozen else found.difference

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        place = np.arange(len(data))
        if np.isfinite(found.detectable):
            axes.axvspan(-found.detectable, found.detectable, color=GREY, alpha=0.18, lw=0, label=say("compare_band"))
        axes.axvline(0, color="black", lw=0.8)
        axes.scatter(data["difference"], place, s=12 + 60 * np.sqrt(data["images"] / data["images"].max()),
                     c=np.where(data["difference"] >= 0, BLUE, ORANGE), edgecolors="none")
        if mean.has_interval:
            axes.plot([mean.low, mean.high], [len(data)] * 2, color="black", lw=2)
        axes.plot(mean.value, len(data), "D", color="black", ms=5)
        axes.set_yticks([*place, len(data)], [*(shortened(each) for each in data["group_id"]), say("compare_mean")])
        axes.invert_yaxis()
        axes.set_xlabel(say("compare_axis", first=shortened(found.first), second=shortened(found.second)))
        if np.isfinite(found.detectable):
            axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0))

    below = int((table["difference"] < 0).sum())
    return Figure(f"differences {name}", say("figure_differences", pair=name), say(
        "figure_differences_alt", pair=name, groups=len(table), below=below, above=int((table["difference"] > 0).sum()),
        band=f"{found.detectable:.3f}"), data, draw, height=max(2.4, 1.0 + 0.2 * len(data)))


def ranks_figure(ranks: pd.DataFrame) -> Figure:
    """Stacked bars: how often each candidate comes first, second, ... in redrawn groups."""
    places = [name for name in ranks.columns if name not in ("candidate", "score")]

    def draw(canvas: Any) -> None:
        from matplotlib import colormaps

        axes = canvas.subplots()
        left = np.zeros(len(ranks))
        for number, name in enumerate(places):
            colour = colormaps["cividis"](1 - number / max(1, len(places) - 1))
            axes.barh(np.arange(len(ranks)), ranks[name], left=left, color=colour, edgecolor="white", label=name)
            left += ranks[name].to_numpy(float)
        axes.set_yticks(np.arange(len(ranks)), [shortened(each) for each in ranks["candidate"]])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel(say("compare_ranks_axis"))
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    best = ranks.sort_values(places[0], ascending=False).iloc[0]
    return Figure("ranks", say("compare_ranks"), f"{say('compare_ranks')}: {shortened(best['candidate'])} "
                  f"{100 * float(best[places[0]]):.0f} %.", ranks[["candidate", *places]], draw,
                  height=max(1.6, 0.9 + 0.35 * len(ranks)))
