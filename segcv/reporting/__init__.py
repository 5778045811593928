"""Evidence to Sections to a report: markdown and one HTML page from the same sections. No image is opened here.

`write_report(folder, evidence)` writes cv_report.md, cv_report.html, figures/, tables/*.csv and summary.json.
"""

from segcv.reporting.answer import SECOND_READER
from segcv.reporting.comparison_report import ComparisonEvidence, changed_images, pair_name, write_comparison
from segcv.reporting.evidence import Evidence
from segcv.reporting.gallery_page import GalleryEvidence, write_gallery
from segcv.reporting.html import html_page
from segcv.reporting.markdown import escaped, page
from segcv.reporting.nested_report import NestedEvidence, write_nested_report
from segcv.reporting.numbers import cell_text, estimate_text
from segcv.reporting.section import (
    Block,
    Bullets,
    Cell,
    Commands,
    Facts,
    Figure,
    Gallery,
    Headline,
    Paragraph,
    Picture,
    Section,
    Table,
)
from segcv.reporting.sections import RESULT_SECTIONS, SECTIONS, report_sections
from segcv.reporting.terminal import terminal_rows
from segcv.reporting.writing import REPORT, SUMMARY, summary_json, write_report

__all__ = [
    "REPORT", "RESULT_SECTIONS", "SECOND_READER", "SECTIONS", "SUMMARY", "Block", "Bullets", "Cell", "Commands",
    "ComparisonEvidence", "Evidence", "Facts", "Figure", "Gallery", "GalleryEvidence", "Headline", "NestedEvidence",
    "Paragraph", "Picture", "Section", "Table", "cell_text", "changed_images", "escaped", "estimate_text",
    "html_page", "page", "pair_name", "report_sections", "summary_json", "terminal_rows", "write_comparison",
    "write_gallery", "write_nested_report", "write_report",
]
