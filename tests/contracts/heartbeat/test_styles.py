"""Is any file that people keep for this read gracefully: its boxes as tasks, all else as context?"""

from pathlib import Path

import pytest

from earnest.contracts.heartbeat.parse import parse_heartbeat

from .properties import hold

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "heartbeats"
"""Files of others, beside the repository, if they are there."""

STYLES = {
    "bullets": ("# Heartbeat\n\n- Check the inbox\n- Look at the calendar 📅\n", 0),
    "numbered runbook": (
        "# Check-in\n\n## 1. Ping\n\n```bash\ncurl -X POST https://x/y | jq .\n```\n\n1. Read it\n",
        0,
    ),
    "boxes": ("## Memory\n- [ ] Every day, read `memory/`\n- [x] Keep notes\n", 2),
    "nested boxes": ("- [ ] Inbox\n  - [ ] Work\n  - [x] Home\n    1. [ ] Bills\n", 4),
    "prose": ("Use the bridge for updates.\nReport dead letters, or errors that come back.", 0),
    "chinese": ("# 心跳任务\n\n- [ ] 检查项目状态\n- 关注机会、日历、邮件等\n", 1),
    "korean front matter": ("---\ninterval_min: 20\n---\n\n# 체크리스트\n- 품질 > 수량\n", 0),
    "german quotes": ("> Zitat\n\n- Führe den Ablauf aus.\n- Sonst: `HEARTBEAT_OK`\n", 0),
    "arabic": ("## المهام\n\n- [ ] تحقق من البريد\n", 1),
    "comment template": ("# Tasks\n\n<!--\nWrite tasks below.\n-->\n", 0),
    "table": ("| when | what |\n|------|------|\n| 9:00 | mail |\n", 0),
    "log": ("- [2026-03-09T22:44:24+00:00] started. Progress: 0/30\n- [1] cited\n", 0),
    "star bullets and rules": ("***\n* one\n* two\n\n---\n+ three\n", 0),
    "setext": ("Heartbeat\n=========\n\nTasks\n-----\n\n- [ ] a | B | optional\n", 1),
    "status report": ("### Agent 级 (✅)\n- [x] main ✅ 已配置\n- ✅ **报告** - `running`\n- ⚠️ check - `error`\n", 1),
    "numbers with brackets": ("1) 🔧 CHECK\n   - Works?\n2) 📱 PULSE\n   - New mentions\n", 0),
    "pipes in code": ("1. Run `a | required`\n\n```bash\nfree | awk '{print}' || true\n```\n", 0),
    "note in a quote": ("> [!NOTE]\n> Be kind,\nlazily too\n\n- go\n", 0),
    "folded": ("<details>\n<summary>Old</summary>\n\n- one\n\n</details>\n\n- [ ] two\n", 1),
    "yaml beside text": ("# CONFIG\ninterval: '0 9 * * *' # 9 AM\n\n## When\n- Cost: $0.00 | free\n", 0),
    "sentence as title": ("# Mine\n\n# Add tasks below when you want something checked.\n\n- Check mail\n", 0),
    "placeholder": ("Log: [Today], [ ], [x] and [topic]\n- [relevant item 1]\n- [link](x) [ref]\n", 0),
    "windows": ("\ufeff# Day\r\n\r\n- [ ] a\r\n", 1),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_file_of_any_style_is_read_without_a_complaint(style: str) -> None:
    text, boxes = STYLES[style]
    contract = parse_heartbeat(text)
    assert len(contract.tasks) == boxes
    assert contract.diagnostics == ()
    hold(text.encode())


def test_plain_prose_is_kept_for_the_agent_to_read() -> None:
    for style in ("bullets", "numbered runbook", "prose", "german quotes", "table", "log", "star bullets and rules"):
        text, _ = STYLES[style]
        assert parse_heartbeat(text).context == text.strip()


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the files of others are not beside the repository")
def test_files_from_the_wild_are_read_whole() -> None:
    files = sorted(CORPUS.glob("*.md"))
    assert len(files) == 44
    boxes, named = 0, dict[str, int]()
    for file in files:
        data = file.read_bytes()
        contract = parse_heartbeat(data, file.name)
        boxes += len(contract.tasks)
        assert not any(task.is_structured for task in contract.tasks), file.name
        if contract.diagnostics:
            named[file.name] = len(contract.diagnostics)
        assert contract.is_empty == (file.name in {"03.md", "75.md"})
        hold(data)
    assert boxes == 31
    assert named == {"25.md": 1, "27.md": 1, "31.md": 3}  # titles that are sentences; a list of boxes in a fence
