"""What leaks from training into the score, and how sure that is: one check per file, each looks and changes nothing.

`audit` runs the checks of CHECKS over Facts; README.md beside this file has a page for each of them.
"""

from segcv.leakage.checks import CHECKS, Audit, Check, audit
from segcv.leakage.facts import Facts, facts_of
from segcv.leakage.finding import FAIL, NOTE, WARN, Finding, findings_table, write_findings
from segcv.leakage.folds import Fold, Folds, folds_of_roles
from segcv.leakage.ledgers import is_ledger, read_ledger
from segcv.leakage.page import audit_markdown, audit_page
from segcv.leakage.reading import fold_columns, folds_of_column, read_folds, refuse_two_folds
from segcv.leakage.runs_read import RunFacts, fingerprint_of, read_ledgers, read_runs, split_folders

__all__ = [
    "CHECKS", "FAIL", "NOTE", "WARN", "Audit", "Check", "Facts", "Finding", "Fold", "Folds", "RunFacts", "audit",
    "audit_markdown", "audit_page", "facts_of", "findings_table", "fingerprint_of", "fold_columns", "folds_of_column",
    "folds_of_roles", "is_ledger", "read_folds", "read_ledger", "read_ledgers", "read_runs", "refuse_two_folds",
    "split_folders", "write_findings",
]
