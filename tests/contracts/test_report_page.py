"""The HTML page: needs nothing else, obeys no name, sorts and filters in a real browser, draws what it says."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from test_report_sections import HOSTILE, evidence

from segcv.reporting import Evidence, Picture, html_page, report_sections, write_report

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def picture(name: str, *, fold: int = 0, classes: tuple[str, ...] = ("field",), score: float = 0.5) -> Picture:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (10, 200, 30)).save(buffer, "PNG")
    panels = tuple((caption, buffer.getvalue()) for caption in ("image", "truth", "prediction", "errors"))
    return Picture(name, name[:3], str(fold), classes, score, ("worst fold",), panels)


def with_pictures() -> Evidence:
    confusion = pd.DataFrame(np.diag([60, 30, 10]), index=["field", "road", "car"], columns=["field", "road", "car"])
    return replace(evidence(), confusion=confusion, pictures=(
        picture("g00/0", fold=0), picture("g01/0", fold=1, classes=("road", "car")), picture("g02/0", fold=1)))


def test_the_page_names_nothing_outside_itself():
    """No address is loaded: every source is data, and the policy in the page forbids others."""
    page = html_page("title", report_sections(with_pictures()))

    assert page.count("src=") == page.count('src="data:')
    assert "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'" in page
    assert "<link" not in page.replace('<link rel="icon" href="data:,">', "")


def test_names_are_shown_and_not_obeyed():
    page = html_page("<b>", report_sections(evidence(names=HOSTILE, classes=("<b>", 'a"b', "*"))))

    assert "<script>alert(1)</script>" not in page and "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert page.count("<script>") == 1


def hostile() -> Evidence:
    """Names that are markup, end attributes, turn the reading order, are very long, or blank, wherever one is shown."""
    classes = ("<img src=x onerror=alert(1)>", 'a"b', " ")
    pictures = tuple(replace(picture(f"{name}/0", classes=(classes[number % 3],)), group=name, fold=name,
                             said=name, why=(f"worst class {name}", name))
                     for number, name in enumerate([*HOSTILE, ""]))
    suspects = pd.DataFrame({"image_id": HOSTILE, "group_id": HOSTILE, "fold": 0, "score": .1, "sure": .9,
                             "specks": 3.0, "ragged": .1, "reason": "tiny specks"})
    excluded = pd.DataFrame({"image_id": HOSTILE, "reason": HOSTILE})
    found = evidence(names=HOSTILE, classes=classes)
    confusion = pd.DataFrame(np.diag([60, 30, 10]), index=list(classes), columns=list(classes))
    return replace(found, pictures=pictures, suspects=suspects, confusion=confusion, excluded=excluded,
                   with_excluded=found.summary.headline, legend=tuple((name, "#0072b2") for name in classes),
                   marks=tuple(HOSTILE), commands=tuple(HOSTILE), notes=tuple(HOSTILE))


def test_no_name_is_obeyed_anywhere_on_the_page(tmp_path: Path):
    """Names stand in text, attributes, menus, figures, commands: none opens a tag, ends an attribute or turns signs."""
    write_report(tmp_path, hostile(), html=True)

    page = (tmp_path / "cv_report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "<img src=x" not in page and "\u202e" not in page
    assert page.count("<script>") == 1
    assert 'data-class="[&quot;a' in page and 'value="a&quot;b"' in page


def test_a_colour_cannot_bring_style_into_the_page():
    with pytest.raises(ValueError, match="is no colour"):
        html_page("t", report_sections(replace(with_pictures(), legend=(("road", "red;background:url(x)"),))))


def test_commands_stand_on_lines_of_their_own():
    page = html_page("title", report_sections(evidence()))

    assert "<pre><code>python -m segcv.train -m fold=0,1,2,3,4 seed=0,1\npython -m segcv.aggregate</code></pre>" in page


def test_same_evidence_same_bytes(tmp_path: Path):
    for name in ("one", "two"):
        write_report(tmp_path / name, with_pictures(), html=True)

    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert {path.suffix for path in files} == {".md", ".html", ".json", ".csv", ".tex", ".svg", ".png"}
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path


def test_every_figure_has_words_and_numbers(tmp_path: Path):
    sections = report_sections(with_pictures())
    figures = [figure for section in sections for figure in section.figures]

    assert {"folds", "intervals", "variance", "groups", "profile", "confusion"} <= {figure.name for figure in figures}
    for figure in figures:
        assert figure.alt.strip() and figure.title.strip() and len(figure.data)


def test_without_html_no_figure_is_made(tmp_path: Path):
    write_report(tmp_path, with_pictures(), html=True)
    path = write_report(tmp_path, with_pictures())

    assert not (tmp_path / "cv_report.html").exists() and not list((tmp_path / "figures").glob("*"))
    assert "![" not in path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Any:
    webdriver = pytest.importorskip("selenium.webdriver")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver on this machine (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def opened(browser: Any, tmp_path: Path) -> list[str]:
    """Open the page from disk; the addresses that were asked for."""
    write_report(tmp_path, with_pictures(), html=True)
    browser.get_log("performance")
    browser.get((tmp_path / "cv_report.html").as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [message["params"]["request"]["url"] for message in messages
            if message["method"] == "Network.requestWillBeSent"]


def test_the_page_opens_from_disk_without_a_request_or_an_error(browser: Any, tmp_path: Path):
    asked = opened(browser, tmp_path)

    assert [url for url in asked if not url.startswith("data:")] == [(tmp_path / "cv_report.html").as_uri()]
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.querySelectorAll('figure svg').length") >= 6


def test_the_gallery_filters_by_class(browser: Any, tmp_path: Path):
    """By hand: of three pictures one holds the class road."""
    opened(browser, tmp_path)

    browser.execute_script("""const menu = document.querySelector('[data-filter=class]'); menu.value = 'road';
                              menu.dispatchEvent(new Event('change'))""")

    assert browser.execute_script("return document.querySelectorAll('.tile:not([hidden])').length") == 1
    assert browser.execute_script("return document.querySelector('.gallery output').textContent") == "1"


def test_hostile_names_run_nothing_and_filter_as_names(browser: Any, tmp_path: Path):
    """By hand: of 11 pictures, numbers 2, 5 and 8 hold the blank class; no dialog opens, nothing is asked for."""
    write_report(tmp_path, hostile(), html=True)
    browser.get_log("browser")
    browser.get((tmp_path / "cv_report.html").as_uri())

    browser.execute_script("""const menu = document.querySelector('[data-filter=class]');
        menu.selectedIndex = [...menu.options].findIndex((option, at) => at && !option.value.trim());
        menu.dispatchEvent(new Event('change'))""")

    assert browser.execute_script("return document.querySelectorAll('.tile:not([hidden])').length") == 3
    assert browser.execute_script("return document.querySelectorAll('img[src=x], main script').length") == 0
    assert browser.get_log("browser") == []


def test_tables_sort_by_number(browser: Any, tmp_path: Path):
    opened(browser, tmp_path)
    column = """const table = [...document.querySelectorAll('table')].find(t => t.rows.length > 8 &&
                  [...t.rows[0].cells].some(c => c.textContent === 'pooled mIoU'));
                const at = [...table.rows[0].cells].findIndex(c => c.textContent === 'pooled mIoU');"""

    browser.execute_script(column + "table.rows[0].cells[at].querySelector('button').click()")

    shown = browser.execute_script(column + "return [...table.tBodies[0].rows].map(r => +r.cells[at].dataset.v)")
    assert shown == sorted(shown) and len(set(shown)) > 3


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen(browser: Any, tmp_path: Path, width: int):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    opened(browser, tmp_path)
    plain = browser.execute_script("return document.documentElement.scrollWidth")
    write_report(tmp_path / "hostile", hostile(), html=True)
    browser.get((tmp_path / "hostile/cv_report.html").as_uri())

    assert plain <= width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
