"""Settings of the commands that read finished runs: what conf/NAME.yaml of each may say."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ReportSettings:
    html: bool = True                    # cv_report.html beside cv_report.md, one file that needs no other; and figures
    pictures: bool = True                # with html: small pictures of images worth looking at
    language: str = "en"                 # en, zh
    weights: str | None = None           # column of the images table: what an image is worth; a weighted mean beside
    baselines: list[str] = field(default_factory=list)     # candidates (or run folders) of rules and earlier models
    second_reader: str | None = None     # candidate (or run folder) of a second reader's masks: what people reach
    exclude: str | None = None           # CSV with image_id and reason: left out of all numbers, and said


@dataclass
class AggregateCommand:
    runs: str = "runs"
    candidate: str | None = None         # which, when there are several
    config_id: str | None = None         # which, when one candidate was run with several settings
    allow_missing: bool = False          # report a half-done sweep, and mark the report
    results: str | None = None           # a table of scores made elsewhere: fold, seed, candidate, split_id, score
    folds: int | None = None             # with results: how many folds there should be
    seeds: list[int] | None = None       # which seeds there should be
    target: str | None = None            # another primary target than the split declared; marked in the report
    level: float = 0.95
    external: str | None = None          # runs folder of the same candidate on an external cohort: the drop to it
    audit: str = "audit"                 # the audit's folder; shown when it is of these data and this split
    out: str | None = None               # report folder; default: beside the runs
    report: ReportSettings = field(default_factory=ReportSettings)


@dataclass
class PageSettings:
    html: bool = True                    # comparison.html beside comparison.md, and figures
    pictures: bool = True                # with html: the images that changed most
    language: str = "en"                 # en, zh


@dataclass
class CompareCommand:
    candidates: list[str] = "???"  # type: ignore[assignment]      # the first is the one the others must beat
    runs: str = "runs"
    metric: str = "iou"                  # iou, dice, precision, recall
    target: str | None = None            # default: the one that the split declared
    weights: str | None = None           # column of the images table: a difference by what images are worth, beside
    level: float = 0.95
    power: float = 0.8                   # of the smallest difference that is called detectable
    gate: str | None = None              # better, not_worse (than the first): exit code 1 unless all others are
    margin: float = 0.0                  # with gate=not_worse: how much worse is not worse
    results: str | None = None           # a plain table of fold scores instead of runs
    folds: int | None = None             # with results: how many folds there should be
    seeds: list[int] | None = None
    out: str | None = None               # default: comparison/, beside the runs
    report: PageSettings = field(default_factory=PageSettings)


@dataclass
class GalleryCommand:
    runs: str = "runs"
    run: str | None = None               # one run: its folder, or its id below runs
    candidate: str | None = None         # without run: which, when there are several
    config_id: str | None = None
    to: str = "html"                     # html, fiftyone
    out: str | None = None               # html: the file; fiftyone: folder of the masks it reads
    most: int = 200                      # html: images shown at most
    side: int = 240                      # html: longer side of a picture, px
    language: str = "en"                 # html: en, zh
    dataset: str | None = None           # fiftyone: name of the data set
    replace: bool = False                # fiftyone: make it anew where one of that name is there


@dataclass
class ComponentSettings:
    """Standard deviations of image scores to plan with, instead of a pilot; group and model are needed."""

    group: float | None = None           # between groups
    model: float | None = None           # between networks of one recipe
    interaction: float = 0.0             # of networks with groups
    residual: float = 0.0                # of networks with images
    h: float = 0.0                       # mean over groups of 1 / images
    folds: int = 5


@dataclass
class PlanCommand:
    runs: str = "runs"
    candidate: str | None = None         # the pilot
    config_id: str | None = None
    against: str | None = None           # a second pilot: plan for the difference of the two
    components: ComponentSettings = field(default_factory=ComponentSettings)
    groups: int | None = None            # at hand; default: those of the pilot
    columns: int | None = None           # seeds or repeats at hand; default: those of the pilot
    interval: float | None = None        # wanted half-width of the interval
    difference: float | None = None      # or the true difference that must show
    effect_sd: float = 0.03              # of the effect over groups, for a difference without a pair
    level: float = 0.95
    power: float = 0.8
    out: str | None = None
