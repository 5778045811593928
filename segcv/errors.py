"""Everything segcv refuses, and the one thing it warns with.

    SegcvError                what was asked, what was found, what to type next
    ├── ConfigError           a setting, or two that do not fit together
    ├── TableError            a table: a column, a row, a key
    ├── ImageFileError        an image: missing, unreadable, of an unexpected kind
    ├── MaskError             a mask: a value, a colour, a size, an encoding
    ├── GroupError            groups that cannot be formed
    ├── SplitError            folds that cannot be cut, or a split that no longer fits its table
    ├── ModelError            a model, its weights or its checkpoint
    ├── TrainingError         a fit that cannot go on
    ├── ScoreError            predictions that cannot be scored
    ├── RunError              runs that are missing, mixed or busy
    └── MissingExtra          an optional library that is not installed

    SegcvWarning              the number is right, but less sure than it looks
"""


class SegcvError(Exception):
    """Base of all refusals; its text is one message for a person and says what to do."""


class ConfigError(SegcvError):
    """A setting that is wrong, has no effect, or contradicts another."""


class TableError(SegcvError):
    """A table lacks a column, holds a value of the wrong kind, or repeats a key."""


class ImageFileError(SegcvError):
    """An image file is missing, damaged, too large, or of another kind than the others."""


class MaskError(SegcvError):
    """A mask holds values, colours or a size that the label map does not explain."""


class GroupError(SegcvError):
    """Group ids cannot be formed from what was given."""


class SplitError(SegcvError):
    """Folds cannot be cut as asked, or a saved split does not belong to this table."""


class ModelError(SegcvError):
    """A model cannot be built, or a checkpoint does not fit it."""


class TrainingError(SegcvError):
    """A fit cannot go on: no usable pixel, a loss that is not finite, no memory."""


class ScoreError(SegcvError):
    """Predictions cannot be scored against these masks."""


class RunError(SegcvError):
    """Runs are missing, mixed, or still being written."""


class MissingExtra(SegcvError):
    """An optional library is needed and not installed."""


class SegcvWarning(UserWarning):
    """The result stands, but something makes it less sure than it looks."""
