"""Is a Megram only ever what the seed allows, and does every tag keep what it is about?"""

import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.foundation.errors import Refused
from earnest.memory.megram import (
    CONTENT_BYTES_MAX,
    DECAYS_PER_DAY,
    ID_BYTES_MAX,
    INSTANT_MS_MAX,
    LOCAL,
    QUANTIZATION,
    TAG_BYTES_MAX,
    Level,
    MegramState,
    Tag,
    approach_tag,
    intent_tag,
    of_state,
    target_tag,
)

MEGRAM = of_state(
    MegramState.ABANDON,
    megram_id="run/1",
    level=Level.M,
    created_at_ms=1_000,
    tag=intent_tag("python_inventory"),
    content="no interpreter was found",
    agent="resident",
    run_id="run",
)


def test_every_state_is_quantized_within_the_decay_classes() -> None:
    assert set(QUANTIZATION) == set(MegramState)
    assert {quantum.k for quantum in QUANTIZATION.values()} <= set(DECAYS_PER_DAY)


def test_a_megram_takes_its_numbers_from_its_state() -> None:
    assert (MEGRAM.f, MEGRAM.sigma, MEGRAM.k) == (0.95, -1.0, 0.05)
    assert (MEGRAM.space, MEGRAM.entity) == ("intent:python_inventory", LOCAL)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "x" * (ID_BYTES_MAX + 1)},
        {"id": "\ud800"},
        {"space": "intent"},
        {"space": "intent:"},
        {"space": ":x"},
        {"entity": "path:" + "x" * TAG_BYTES_MAX},
        {"entity": "path:\udfff"},
        {"content": ""},
        {"content": "ü" * (CONTENT_BYTES_MAX // 2 + 1)},
        {"agent": ""},
        {"run_id": ""},
        {"created_at_ms": -1},
        {"created_at_ms": INSTANT_MS_MAX + 1},
        {"last_recalled_at_ms": -1},
        {"f": 0.0},
        {"f": 1.01},
        {"f": float("nan")},
        {"sigma": -1.01},
        {"sigma": float("nan")},
        {"k": 0.1},
        {"k": float("inf")},
        {"level": Level.C},
        {"level": Level.T},
    ],
)
def test_a_value_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refusal:
        replace(MEGRAM, **wrong)
    assert refusal.value.code == "megram_invalid"


def test_age_counts_from_the_later_of_creation_and_recall() -> None:
    assert MEGRAM.renewed_at_ms == 1_000
    assert replace(MEGRAM, last_recalled_at_ms=2_000).renewed_at_ms == 2_000
    assert replace(MEGRAM, last_recalled_at_ms=500).renewed_at_ms == 1_000


def test_a_task_class_is_its_own_tag() -> None:
    assert intent_tag("a_b_c_d_e").space == "intent:a_b_c_d_e"


def test_other_intents_are_their_first_three_words() -> None:
    assert intent_tag("Write an Inventory, of files!").space == "intent:write_an_inventory"


@pytest.mark.parametrize(
    "intents",
    [
        ["清理下载文件夹", "写一份报告", "翻译这封邮件"],
        ["हिन्दी", "हनदी", "हिन्दु"],
        ["перевести письмо", "написать отчёт"],
        ["ترجم الرسالة", "اكتب تقريرا"],
        ["🎉", "🎊", "🎉🎉", "!!!", "", " "],
        ["清" * 100 + "一", "清" * 100 + "二"],
        ["ไปเที่ยว", "ไปเทียว"],
    ],
)
def test_intents_in_any_script_keep_distinct_tags(intents: list[str]) -> None:
    assert len({intent_tag(intent).space for intent in intents}) == len(intents)


@settings(deadline=None)
@given(st.text())
def test_the_tag_of_any_text_can_be_remembered(text: str) -> None:
    tag = intent_tag(text)
    assert replace(MEGRAM, space=tag.space, entity=tag.entity).space == tag.space


def test_composed_and_decomposed_words_are_one_intent() -> None:
    assert intent_tag("Résumé Größe") == intent_tag(unicodedata.normalize("NFD", "résumé größe"))


def test_a_long_tag_is_shortened_and_stays_distinct() -> None:
    targets = ["x" * 5_000 + end for end in ("a", "b")]
    tags = [target_tag("shell:find", target) for target in targets]
    tags += [approach_tag("inventory", "count", target) for target in targets]
    assert len(set(tags)) == 4
    for tag in tags:
        assert replace(MEGRAM, space=tag.space, entity=tag.entity).entity == tag.entity


def test_a_target_is_tagged_by_tool_and_path() -> None:
    assert target_tag("shell:find", "src/a|b") == Tag(space="tool:shell:find", entity="path:src/a|b")


def test_an_approach_is_tagged_by_task_class_and_subtask() -> None:
    assert approach_tag("inventory", "count", "wc") == Tag(space="approach:inventory/count", entity="approach:wc")
