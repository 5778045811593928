"""A report in Chinese: every sentence is there, says the same values, and stands on the page."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from string import Formatter

import pytest
from test_report_sections import evidence

from segcv.errors import ConfigError
from segcv.reporting import sentences, sentences_zh, write_report
from segcv.reporting.sentences import column, in_language, say

CHINESE = re.compile("[\u4e00-\u9fff]")
SAME_WORD = {"miou_pooled"}         # names of measures that Chinese writes in Latin letters


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def test_both_languages_have_the_same_sentences():
    assert sentences_zh.SENTENCES.keys() == sentences.SENTENCES.keys()
    assert sentences_zh.COLUMNS.keys() >= sentences.COLUMNS.keys()


@pytest.mark.parametrize("key", sentences.SENTENCES)
def test_a_sentence_has_the_same_values_in_both_languages_and_is_translated(key: str):
    english, chinese = sentences.SENTENCES[key], sentences_zh.SENTENCES[key]

    assert placeholders(chinese) == placeholders(english)
    assert CHINESE.search(chinese)
    assert not CHINESE.search(english)


@pytest.mark.parametrize("name", sorted(set(sentences_zh.COLUMNS) - SAME_WORD))
def test_a_column_is_translated(name: str):
    shown = sentences_zh.COLUMNS[name]

    assert shown != sentences.COLUMNS.get(name, name)
    assert CHINESE.search(shown) or shown == "SD（n-1）"


def test_columns_of_one_table_keep_different_names():
    assert len(set(sentences_zh.COLUMNS.values())) == len(sentences_zh.COLUMNS)


def test_the_language_ends_with_its_block():
    with in_language("zh"):
        assert say("title") == "交叉验证报告"
        assert column("group_id") == "组"
        assert column("iou road") == "IoU road"
    assert say("title") == "Cross-validation report"
    assert column("group_id") == "group"


def test_a_whole_report_is_written_in_chinese(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        path = write_report(tmp_path, evidence(), html=True, language="zh")

    words, page = path.read_text(encoding="utf-8"), (tmp_path / "cv_report.html").read_text(encoding="utf-8")
    assert words.startswith("# 交叉验证报告：unet\n\n## 预期表现\n")
    assert '<html lang="zh">' in page
    for key in ("answer", "data", "folds", "averages", "limits", "axis_fold", "figure_ladder"):
        with in_language("zh"):
            assert say(key) in page, key
    assert "区间均为 95 % 区间" in page
    assert "On a new group" not in page
    assert "What to expect" not in page
    assert "占折得分预期方差的比例" in (tmp_path / "figures" / "variance.svg").read_text(encoding="utf-8")
    assert "findfont" not in caplog.text


def test_a_language_without_sentences_is_refused_by_name(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"report\.language=fr is not known; use one of en, zh"):
        write_report(tmp_path, evidence(), language="fr")

    assert not list(tmp_path.iterdir())
