"""The gallery of the HTML page: small pictures with their scores, colours of classes, menus that filter."""

from __future__ import annotations

import base64
import json
import re
from math import isfinite

from segcv.reporting.html_text import shortened_text, text
from segcv.reporting.section import Gallery, Picture
from segcv.reporting.sentences import say

KINDS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"RIFF": "webp"}
PANELS = ("image", "truth", "prediction", "errors", "difference")
RANKS = ("worst", "median", "best")
COLOUR = re.compile("#[0-9a-f]{6}")


def gallery(shown: Gallery) -> str:
    """Menus, the legend and a tile for each picture."""
    if not shown.pictures:
        return f"<p>{text(say('no_gallery'))}</p>"
    reasons = {rank_of(why) for picture in shown.pictures for why in picture.why}
    choices = {
        "why": [(why, reason_text(why)) for why in (*RANKS, "suspicious", "changed") if why in reasons],
        "fold": [(name, name) for name in sorted({picture.fold for picture in shown.pictures}, key=_natural)],
        "group": [(name, name) for name in sorted({picture.group for picture in shown.pictures}, key=_natural)],
        "class": [(name, name) for name in dict.fromkeys(
            name for name in (*(label for label, _ in shown.legend),
                              *(each for picture in shown.pictures for each in picture.classes)))
                  if any(name in picture.classes for picture in shown.pictures)],
    }
    menus = "".join(
        f'<label>{text(say(f"filter_{key}"))} <select data-filter="{key}"><option value="">{text(say("filter_all"))}'
        "</option>" + "".join(f'<option value="{text(value)}">{shortened_text(label)}</option>'
                              for value, label in values)
        + "</select></label>" for key, values in choices.items())
    seen = (f'<span class="seen"><output aria-live="polite">{len(shown.pictures)}</output> '
            f'{text(say("gallery_seen", all=len(shown.pictures)))}</span>')
    return (f'<div class="gallery"><div class="menus">{menus}{seen}</div>{_legend(shown.legend)}'
            f'<div class="tiles">{"".join(map(_picture, shown.pictures))}</div></div>')


def rank_of(why: str) -> str:
    """The reason without what it is a reason of: worst of `worst class road`."""
    return why.split(" ", 1)[0]


def reason_text(why: str) -> str:
    """A reason in words; one that is not known is shown as it is."""
    rank, _, of = why.partition(" ")
    part, _, name = of.partition(" ")
    if rank in RANKS and part in ("fold", "group"):
        return say(f"why_{rank}_of", what=say(f"filter_{part}"))
    if rank in RANKS and part == "class":
        return say(f"why_{rank}_at", name=name)
    return say(f"why_{rank}") if rank in (*RANKS, "suspicious", "changed") and not of else why


def _legend(colours: tuple[tuple[str, str], ...]) -> str:
    if not colours:
        return ""
    for _, colour in colours:
        if not COLOUR.fullmatch(colour):
            raise ValueError(f"{colour!r} is no colour; it would be written into the page's style")
    named = "".join(f'<li><i style="background:{colour}"></i>{shortened_text(name)}</li>' for name, colour in colours)
    marks = (f'<li><i style="background:#fff"></i>{text(say("legend_ignored"))}</li>'
             f'<li><i style="background:#d62728"></i>{text(say("legend_wrong"))}</li>')
    return f'<ul class="legend">{named}{marks}</ul>'


def _picture(picture: Picture) -> str:
    panels = "".join(
        f'<figure><img loading="lazy" alt="{text(_caption(name))}: {shortened_text(picture.image_id)}" '
        f'src="data:image/{_kind(data)};base64,{base64.b64encode(data).decode()}"><figcaption>'
        f"{shortened_text(_caption(name))}</figcaption></figure>" for name, data in picture.panels)
    score = f"{picture.score:.3f}" if isfinite(picture.score) else "n/a"
    own = " · ".join(f"{shortened_text(name)} {_two(value)}" for name, value in
                     zip(picture.classes, picture.scores, strict=False))
    why = "; ".join(text(reason_text(each)) for each in picture.why)
    lines = [f"<b>{score}</b> {shortened_text(picture.image_id, 60)}", *([own] if own else []),
             *([text(picture.said)] if picture.said else []),
             f'<span class="note">{why} · {text(say("filter_group"))} {shortened_text(picture.group)} · '
             f'{text(say("filter_fold"))} {text(picture.fold)}</span>']
    ranks = list(dict.fromkeys(map(rank_of, picture.why)))
    return (f'<div class="tile" data-why="{text(json.dumps(ranks))}" data-fold="{text(json.dumps([picture.fold]))}" '
            f'data-group="{text(json.dumps([picture.group]))}" data-class="{text(json.dumps(picture.classes))}">'
            f'<div class="panels" style="--panels:{len(picture.panels)}">{panels}</div>'
            f'<p>{"<br>".join(lines)}</p></div>')


def _caption(name: str) -> str:
    return say(f"panel_{name}") if name in PANELS else name


def _two(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else "n/a"


def _kind(data: bytes) -> str:
    for start, kind in KINDS.items():
        if data.startswith(start):
            return kind
    raise ValueError("a picture of the gallery is neither PNG, JPEG nor WebP")


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """fold 10 after fold 9."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name))
