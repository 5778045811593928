"""The register of checks, and the audit that runs those whose needs are met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from segcv.leakage import (
    cluster_width,
    file_kinds,
    fitted_on,
    fold_balance,
    folds_filled,
    group_sizes,
    groups_whole,
    held_out_once,
    ledger_roles,
    locked_unused,
    name_sources,
    near_duplicates,
    neighbouring_frames,
    same_bytes,
    same_masks,
    same_pixels,
    score_too_good,
    scored_on,
    seen_ground,
    shared_ground,
    sides_disjoint,
)
from segcv.leakage.facts import Facts
from segcv.leakage.finding import SEVERITIES, Finding


@dataclass(frozen=True, slots=True)
class Check:
    """A check, and the parts of the Facts it cannot do without."""

    find: Callable[[Facts], Iterator[Finding]]
    needs: frozenset[str]


def _check(find: Callable[[Facts], Iterator[Finding]], *needs: str) -> Check:
    return Check(find, frozenset(needs))


CHECKS: dict[str, Check] = {
    ledger_roles.NAME: _check(ledger_roles.find, "ledger"),
    sides_disjoint.NAME: _check(sides_disjoint.find, "images", "folds"),
    folds_filled.NAME: _check(folds_filled.find, "folds"),
    held_out_once.NAME: _check(held_out_once.find, "images", "folds"),
    locked_unused.NAME: _check(locked_unused.find, "images", "folds"),
    groups_whole.NAME: _check(groups_whole.find, "images", "folds"),
    same_bytes.NAME: _check(same_bytes.find, "images", "profile"),
    same_pixels.NAME: _check(same_pixels.find, "images", "profile"),
    same_masks.NAME: _check(same_masks.find, "images", "profile", "masks", "folds"),
    near_duplicates.NAME: _check(near_duplicates.find, "images", "profile", "looks", "folds"),
    neighbouring_frames.NAME: _check(neighbouring_frames.find, "images", "folds"),
    name_sources.NAME: _check(name_sources.find, "images", "folds"),
    seen_ground.NAME: _check(seen_ground.find, "images", "profile", "looks", "folds"),
    shared_ground.NAME: _check(shared_ground.find, "images", "folds"),
    fitted_on.NAME: _check(fitted_on.find, "runs"),
    scored_on.NAME: _check(scored_on.find, "runs"),
    score_too_good.NAME: _check(score_too_good.find, "runs"),
    fold_balance.NAME: _check(fold_balance.find, "images", "masks", "folds"),
    group_sizes.NAME: _check(group_sizes.find, "images", "masks"),
    cluster_width.NAME: _check(cluster_width.find, "images", "profile", "looks"),
    file_kinds.NAME: _check(file_kinds.find, "images", "profile"),
}


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, worst first, and which checks could not look, with what they lack."""

    findings: tuple[Finding, ...]
    silent: tuple[str, ...]                    # checks that looked and found nothing
    skipped: dict[str, tuple[str, ...]]        # check -> what it lacks

    @property
    def failed(self) -> bool:
        """Is there a certain leak?"""
        return any(finding.severity == SEVERITIES[0] for finding in self.findings)


def audit(facts: Facts) -> Audit:
    """Run every check whose needs are met; nothing is changed."""
    found: list[Finding] = []
    silent: list[str] = []
    skipped: dict[str, tuple[str, ...]] = {}
    for name, check in CHECKS.items():
        lacking = check.needs - facts.known()
        if lacking:
            skipped[name] = tuple(sorted(lacking))
            continue
        mine = list(check.find(facts))
        found += mine
        if not mine:
            silent.append(name)
    order = sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
    return Audit(tuple(order), tuple(silent), skipped)
