"""The page of `segcv.gallery`: pictures of a run, from the same parts as the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.reporting.about_limits import suspects_table
from segcv.reporting.html import html_page
from segcv.reporting.numbers import score_text
from segcv.reporting.section import Block, Gallery, Paragraph, Picture, Section
from segcv.reporting.sentences import in_language, say
from segcv.tables import write_text


@dataclass(frozen=True, slots=True, eq=False)
class GalleryEvidence:
    """What a gallery shows: pictures of some of `images` scored images, whose mean score is `score`."""

    title: str
    images: int
    score: float
    runs: int
    pictures: tuple[Picture, ...]
    legend: tuple[tuple[str, str], ...]
    suspects: pd.DataFrame
    leaking: bool = False


def write_gallery(path: Path, evidence: GalleryEvidence, *, language: str = "en") -> Path:
    """The path of the page, one file that needs no other; same evidence, same bytes."""
    with in_language(language):
        blocks: list[Block] = [Paragraph(say("mark_leaking"), strong=True)] if evidence.leaking else []
        blocks += [
            Paragraph(say("gallery_of", runs=evidence.runs, images=evidence.images, score=score_text(evidence.score))),
            Paragraph(say("gallery_read")), Gallery("pictures", evidence.pictures, evidence.legend)]
        sections = [Section(say("gallery"), tuple(blocks))]
        if len(evidence.suspects):
            sections.append(Section(say("labels"), (
                Paragraph(say("suspects_read", images=len(evidence.suspects))), suspects_table(evidence.suspects))))
        write_text(path, html_page(say("gallery_title", name=evidence.title), tuple(sections)))
    return path
