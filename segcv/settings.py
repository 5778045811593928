"""What a user may set, as plain dataclasses: one per folder of conf/, one per command. Nothing here knows Hydra."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from segcv.recipe_settings import (
    AugmentSettings,
    LossSettings,
    ModelSettings,
    OptimSettings,
    PredictionSettings,
    PreprocessingSettings,
    SeedSettings,
    TrainerSettings,
)

__all__ = ["AugmentSettings", "LossSettings", "ModelSettings", "OptimSettings", "PredictionSettings",
           "PreprocessingSettings", "SeedSettings", "TrainerSettings"]            # those of a recipe are found here too

TARGETS = ("equal_group", "equal_row", "group_pooled", "pooled")     # what the primary number weighs alike


@dataclass
class AnnotationSettings:
    """Annotation files instead of masks: mask_path, or data.masks, names them; data.classes lists the classes."""

    format: str | None = None            # coco, labelme, cvat (for images); null: masks are pictures
    labels: Any = None                   # {label in the files: class name, or ignore}, where they differ
    outside: str | None = None           # what pixels in no region are: a class, or ignore; null: the class background
    overlap: str = "later"               # which region counts: later in the file, smaller, or refuse other classes
    crowd: str = "class"                 # COCO's crowd regions: class, or ignore


@dataclass
class DataSettings:
    """Which images, which masks, and what the mask values mean. Nothing named: the demo data are made and used."""

    name: str | None = None              # default: the name of the folder that holds the table or the images
    table: str | None = None             # CSV with image_path, mask_path; paths relative to it
    images: str | None = None            # or two folders, paired by relative path without suffix
    masks: str | None = None             # with annotations: a file, or a folder of files
    mask_suffix: str = ""                # what mask names add to image names: _mask
    external: str | None = None          # of evaluate: the table of an external cohort, instead of table
    root: str | None = None              # folder a ready data config starts from
    classes: list[str] | None = None     # class names in the order of their ids
    num_classes: int | None = None       # or only how many
    ignore: int | None = 255             # mask value that is not scored and not trained on
    values: Any = None                   # {mask value: class id, or the ignore value}
    colors: Any = None                   # {"3C1098": class id, or the ignore value}
    bands: int | None = None             # bands every image must have
    nodata: float | None = None          # image value of pixels without data
    max_pixels: int = 100_000_000        # larger images are refused before they are decoded
    annotations: AnnotationSettings = field(default_factory=AnnotationSettings)


@dataclass
class GroupSettings:
    """What must never be split: a column, else a pattern in the file name, else near-duplicates, else alone."""

    column: str = "group_id"
    pattern: str | None = "auto"         # a ready name (tiles, frames, ...), a regular expression, null; auto: see conf
    near_duplicates: int | None = 5      # largest Hamming distance of 64-bit perceptual hashes; null: not looked for
    turns: bool = True                   # near-duplicates also among flipped and turned copies
    overlaps: str | None = "landmarks"   # shared ground: blocks (equal pixels), landmarks (also compressed), null
    ground: str | None = "auto"          # where images lie: columns, georeference, names; auto: the first of them; null
    level: str | None = "auto"           # coarser id column that stays whole; auto: those named for one thing; null
    levels: list[str] = field(default_factory=list)      # coarser id columns that stay whole, fine to coarse
    copies: str = "join"                 # images of equal pixels: join (one group), remove (all but one, counted)
    large_joins: str = "ask"             # look-alike groups that are above 1/folds together: ask, join, apart


@dataclass
class SplitSettings:
    """How the groups are dealt to the folds. Never follows `seed`: a seed sweep must not recut the folds."""

    name: str = "balanced_group_kfold"
    folds: int | None = 5
    repeats: int = 1
    seed: int = 0
    locked_groups: list[str] = field(default_factory=list)     # neither trained on nor tested on
    max_per_group: int | None = None     # training images per group
    first_by: str | None = None          # which ones: time (the first), null: any
    bootstrap: bool = False              # repeats draw the training groups anew and keep the held-out folds
    balance_on: list[str] = field(default_factory=list)        # of balanced_group_kfold: columns, as [site, scanner]
    stratify: str | None = None          # of the k-folds of groups: column whose groups are dealt evenly
    leave: int | None = None             # of leave_p_groups_out: groups held out together; null: 2
    share: float | None = None           # of repeated_holdout: of the images, in each draw; null: 0.2
    table: str | None = None             # folds cut elsewhere: CSV, JSON, or a folder of lists
    time_column: str | None = None       # of split=time, known_groups; null: time; 2023-04-30 or 2023-04-30 14:05
    gap_days: float | None = None        # training ends more than this before the first held-out image
    buffer_px: float | None = None       # of split=blocks: training images this near held-out ground are left out
    buffer_m: float | None = None        # or in metres, where the columns x, y, w, h are metres
    ground_column: str | None = None     # x and y count within its values; null: ground or source_id; all: one
    target: str = "equal_group"          # primary target, declared before scores exist


@dataclass
class SplitCommand:
    data: DataSettings = field(default_factory=DataSettings)
    group: GroupSettings = field(default_factory=GroupSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    splits: str = "splits"               # where split folders are kept
    cache: str = ".segcv"                # where demo data, and what was seen in files, are kept
    workers: int | None = None           # threads that read files; null: one per core


@dataclass
class ConvertCommand:
    data: DataSettings = field(default_factory=DataSettings)
    out: str = "???"                     # folder of the masks and their table; must not be there yet
    workers: int = 2


@dataclass
class CalibrationSettings:
    """What is fitted on the calibration groups (role C) of a nested evaluation, and of the delivered model."""

    method: str = "none"                 # none, temperature, class_temperature, vector, isotonic
    threshold: str = "none"              # none, or the cut for class 1 of two with the best iou or dice


@dataclass
class RecipeCommand(SplitCommand):
    """All that decides what a network learns, shared by the commands that train."""

    workers: int = 2                     # of training; the data are looked at by one thread per core
    seed: int = 0
    preprocessing: PreprocessingSettings = field(default_factory=PreprocessingSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    optim: OptimSettings = field(default_factory=OptimSettings)
    augment: AugmentSettings = field(default_factory=AugmentSettings)
    trainer: TrainerSettings = field(default_factory=TrainerSettings)
    seeds: SeedSettings = field(default_factory=SeedSettings)
    prediction: PredictionSettings = field(default_factory=PredictionSettings)
    device: str = "auto"                 # auto, cpu, cuda, cuda:1
    threads: int = 1                     # torch threads; changes results, so part of the config id
    cache_gb: float = 20.0               # decoded images kept in the cache; beyond it decoded at each look; 0: none


@dataclass
class TrainCommand(RecipeCommand):
    fold: int = "???"  # type: ignore[assignment]      # Hydra's word for: must be given
    repeat: int = 0
    candidate: str | None = None         # default: the model's name
    runs: str = "runs"
    trackers: list[str] = field(default_factory=lambda: ["tensorboard"])     # tensorboard, mlflow, wandb
    probe: str | None = None             # FILE.json: train for 20 s, write there what a run takes, keep nothing else


@dataclass
class DoctorCommand:
    loader: str | None = None            # package.module:object, a Dataset or DataLoader to audit
    encoder: str = "resnet18"            # whose pretrained weights are looked for
    encoder_weights: str = "imagenet"
    runs: str = "runs"
    splits: str = "splits"
    cache: str = ".segcv"


@dataclass
class SweepCommand:
    action: str = "status"               # submit, status, collect
    train: list[str] = field(default_factory=list)       # what train -m takes: fold=0,1,2,3,4 seed=0,1 ...
    dry_run: bool = False                # with submit: say what it would take, after a probe of 20 s
    sweeps: str = ".segcv/sweeps"        # where sweeps keep their state


@dataclass
class EvaluateCommand:
    data: DataSettings = field(default_factory=DataSettings)
    group: GroupSettings = field(default_factory=GroupSettings)
    split: SplitSettings | None = None   # whose folds hold out what is scored; null: everything predicted is scored
    predictions: str = "???"             # folder, path with places such as {fold} and {image_id}, or a CSV
    name: str | None = None              # the candidate, where the path has no {candidate}
    kind: str = "labels"                 # labels, probabilities, logits
    channels: str | None = None          # class axis: first, last; null: the only one that fits
    threshold: float | None = None       # probability of class 1 of two above which it is said; null: 0.5
    scale: float = 1.0                   # stored value of probability 1
    key: str | None = None               # which array of .npz files
    predicted_values: Any = None         # ids, masks, or {stored value: class id} of predicted labels
    volume_rows: str | None = None       # of NIfTI and .npz volumes: the axis, x or y, that rows of masks follow
    size: str = "nearest"                # predictions of another size: nearest, stretch, refuse
    foreground: list[Any] | None = None  # classes (ids or names) the means go over; null: all
    metrics: list[str] = field(default_factory=list)       # boundary metrics to add: hd95_max, nsd, boundary_iou, ...
    spacing: list[float] = field(default_factory=lambda: [1.0, 1.0])     # of pixel centres, down and across
    tolerance: float | None = None       # of nsd, in the units of spacing
    histograms: bool = True              # of probabilities: calibration, AUROC, thresholds
    repeat: int | None = None            # which, where the path does not say; chosen where it does
    fold: int | None = None
    seed: int | None = None
    trained_on: str | None = None        # training lists, which prove that scored images were held out
    runs: str = "runs"
    splits: str = "splits"
    cache: str = ".segcv"
    workers: int = 2


@dataclass
class AuditCommand:
    data: DataSettings = field(default_factory=DataSettings)
    group: GroupSettings = field(default_factory=GroupSettings)
    split: SplitSettings | None = None   # whose folder under splits is audited; null: the data, and what roles names
    split_folder: str | None = None      # or the folder itself
    roles: str | None = None             # folds cut elsewhere (CSV, JSON), or a ledger of roles (B, C, V, O)
    fold_column: str | None = None       # column of the table, or of roles, that holds the fold or train, val, test
    runs: str | None = None              # finished runs: what they were fitted and scored on
    out: str = "audit"
    splits: str = "splits"
    cache: str = ".segcv"
    workers: int | None = None


@dataclass
class InnerSettings:
    """How a nested evaluation cuts the training groups of an outer fold."""

    folds: int = 3                       # inner folds, on which candidates are compared
    calibration_share: float = 0.25      # share of the groups kept for calibration (role C); 0 where nobody calibrates


@dataclass
class NestedCommand(RecipeCommand):
    candidates: list[Any] = "???"  # type: ignore[assignment]
    name: str = "nested"                 # names the folder and the candidate in the report
    inner: InnerSettings = field(default_factory=InnerSettings)
    calibration: CalibrationSettings = field(default_factory=CalibrationSettings)
    judge: str = "miou"                  # loss of a group: 1 - mIoU (1 - mean over its images), or brier
    fallback: str = "majority"           # answers where B or C is empty or lacks a class
    slots: int | None = None             # fits at once on CPUs; null: as many as cores allow
    retries: int = 0
    fit: str | None = None               # make this one fit only, as the jobs of a nested evaluation do
    level: float = 0.95
    nested: str = "nested"               # where nested evaluations are kept


@dataclass
class FinalCommand(NestedCommand):
    """The same choice on all groups; what nested says of the recipe is said of this model."""

    models: str = "models"               # where delivered models are kept
    ensemble: str | None = None          # deliver the fold models of this nested evaluation instead, as one
    onnx: bool = False                   # also write model.onnx, checked on real images (an extra)


@dataclass
class PredictCommand:
    model_folder: str = "???"            # typed as model=FOLDER; conf/model is another thing
    images: str = "???"
    out: str = "predictions"
    format: str = "png"                  # png, tiff, npy
    probabilities: str | None = None     # npy, tiff
    contract: str = "refuse"             # refuse, warn
    window: int = 4096                   # px; larger images are predicted window by window
    source_pattern: str | None = None    # expression whose group is an image's source: where sources are normalised
    prediction: PredictionSettings = field(default_factory=PredictionSettings)
    device: str = "auto"
    threads: int = 1
    precision: str = "auto"


@dataclass
class ServingCommand:
    model_folder: str = "???"            # typed as model=FOLDER
    image: str = "???"
    served: str = "???"                  # .npy: what the service feeds its model for this image
    tolerance: float = 0.01              # in training standard deviations
    device: str = "auto"
    threads: int = 1
