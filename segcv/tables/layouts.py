"""The tables that flow through segcv, one Schema each; ids are text, pixel counts are int64."""

from __future__ import annotations

from segcv.tables.schema import Column, Schema

TRAIN, HELD_OUT, EXCLUDED = "train", "held_out", "excluded"      # the roles of an image in a fold

IMAGES = Schema(
    "images",
    (
        Column("image_id"), Column("image_path"), Column("mask_path"),
        Column("source_id", required=False, blank=True), Column("group_id", required=False, blank=True),
        Column("group_evidence", required=False, blank=True),
        Column("x", "number", required=False, blank=True), Column("y", "number", required=False, blank=True),
        Column("w", "number", required=False, blank=True), Column("h", "number", required=False, blank=True),
        Column("time", required=False, blank=True),
    ),
    key=("image_id",), extra=True,
)

IMAGE_PROFILE = Schema(        # what a file holds, read once: one row per image
    "image profile",
    (
        Column("image_id"), Column("image_hash"), Column("mask_hash"),
        Column("height", "integer"), Column("width", "integer"), Column("bands", "integer"), Column("dtype"),
        Column("brightness", "number", blank=True), Column("contrast", "number", blank=True),
        Column("nodata_share", "number", blank=True),
    ),
    key=("image_id",), extra=True,
)

MASK_PROFILE = Schema(         # labelled pixels, one row per image and class; class -1 counts the ignored ones
    "mask profile",
    (
        Column("image_id"), Column("class_id", "integer"), Column("pixels", "integer"),
        Column("brightness", "number", required=False, blank=True),      # mean grey value of the class in the image
    ),
    key=("image_id", "class_id"),
)

ROLES = Schema(
    "roles",
    (
        Column("repeat", "integer"), Column("fold", "integer"), Column("image_id"), Column("group_id"),
        Column("role"), Column("reason", blank=True),
        Column("train_count", "integer", required=False),      # how often it trains in an epoch; absent: once
    ),
    key=("repeat", "fold", "image_id"),
)

SCORES = Schema(               # the narrow waist: exact counts per run, image and class
    "scores",
    (
        Column("run_id"), Column("image_id"), Column("class_id", "integer"),
        Column("group_id"), Column("source_id", blank=True),
        Column("tp", "integer"), Column("fp", "integer"), Column("fn", "integer"), Column("valid", "integer"),
    ),
    key=("run_id", "image_id", "class_id"), extra=True,      # extra: mask metrics as numbers, NaN = undefined
)

CONFUSION = Schema(            # non-zero cells only; predicted -1 is a label outside the label set
    "confusion",
    (
        Column("run_id"), Column("image_id"), Column("truth", "integer"), Column("predicted", "integer"),
        Column("pixels", "integer"),
    ),
    key=("run_id", "image_id", "truth", "predicted"),
)

IMAGE_FACTS = Schema(
    "image facts",
    (
        Column("run_id"), Column("image_id"),
        Column("mean_top_probability", "number", blank=True), Column("outside_label_set", "integer"),
        Column("height", "integer", required=False), Column("width", "integer", required=False),
    ),
    key=("run_id", "image_id"),
)

LEDGER = Schema(               # who was used for what, as read; inner -1: a refit, outer -1: the delivered model
    "ledger",
    (
        Column("fit_id"), Column("group_id"), Column("role"), Column("outer", "integer"), Column("inner", "integer"),
        Column("candidate"), Column("rows", "integer"),
    ),
    key=("fit_id", "group_id", "role"),
)

HISTOGRAMS = Schema(           # probability level/255 of every pixel and class; class -1: the largest of a pixel
    "histograms",
    (
        Column("run_id"), Column("image_id"), Column("class_id", "integer"), Column("level", "integer"),
        Column("wrong", "integer"), Column("right", "integer"),
    ),
    key=("run_id", "image_id", "class_id", "level"),
)

FINDINGS = Schema(             # what the audit found; counts of held-out images are per fold
    "findings",
    (
        Column("check"), Column("subject"), Column("severity"), Column("what"), Column("why_it_matters"),
        Column("evidence", blank=True), Column("remedy"),
        Column("held_out_touched", "number", blank=True), Column("held_out", "number", blank=True),
        Column("share", "number", blank=True), Column("examples", blank=True),
    ),
    key=("check", "subject"),
)

HISTORY = Schema(
    "history",
    (
        Column("epoch", "integer"), Column("loss", "number"), Column("lr", "number"), Column("seconds", "number"),
        Column("images", "integer"), Column("skipped_batches", "integer"),
        Column("inner_score", "number", required=False, blank=True),
    ),
    key=("epoch",),
)
