"""Makes a study of a minute and opens its report in a browser: phone and desktop, light and dark.

usage: report_in_browser.py SHEAF [FOLDER]     FOLDER keeps the study and the screenshots
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import TOO_WIDE, Browser

CONFIG = """
[study]
title = "Under </script> & test"
ranks = 2
steps = 4
strategies = ["ddp", "zero2", "zero3"]
sweep_to = 4
sweep_steps = 3
profiled_steps = 1
[model]
preset = "gpt2-tiny"
layers = 2
width = 32
heads = 2
context = 16
[data]
source = "stories"
size = 4000
[batch]
global = 4
"""
ROOT = Path(__file__).resolve().parents[2]


def published(report):
    """What published studies show, by the table in docs/study.md: titles and keys; those that need a GPU or PyTorch
    only where the study had them."""
    data = report["data"]
    absent = ["(CUDA)"] if data["settings"]["device"] == "cpu" else []
    absent += [] if data["pytorch"] else ["(PyTorch)"]
    text = (ROOT / "docs/study.md").read_text()
    table = text.split("\n| published |", 1)[1].split("\n\n", 1)[0]
    for line in table.splitlines()[2:]:
        what, titles, keys = line.strip("|").split(" | ")
        if not any(word in what for word in absent):
            yield what.strip(), [title.strip() for title in titles.split(";")], re.findall(r"`([^`]+)`", keys)


def values_at(node, path):
    """All that a key such as strategies[].memory.peak leads to."""
    nodes = [node]
    for name in path.replace("[]", ".[]").split("."):
        if name == "[]":
            nodes = [each for node in nodes for each in (node.values() if isinstance(node, dict) else node)]
        else:
            nodes = [node[name] for node in nodes if isinstance(node, dict) and name in node]
    return [node for node in nodes if node is not None]


def check_published(report):
    shown = {title for section in report["sections"] for block in section["blocks"] for title in titles_in(block)}
    rows = list(published(report))
    assert len(rows) >= 18, "the table in docs/study.md was not found"
    for what, titles, keys in rows:
        assert titles and keys, what
        for title in titles:
            assert title in shown, f"{what}: the report has no '{title}'"
        for key in keys:
            assert values_at(report["data"], key), f"{what}: report.json has nothing at {key}"
    return [title for _, titles, _ in rows for title in titles]


def titles_in(block):
    if block["kind"] == "pair":
        return [title for each in block["blocks"] for title in titles_in(each)]
    return [block.get("title", "")]


def shown_numbers(report):
    for section in report["sections"]:
        for block in section["blocks"]:
            if block["kind"] != "table":
                continue
            for row in block["rows"]:
                yield from (value for value in row if isinstance(value, (int, float)) and not isinstance(value, bool))


def check_page(page, name, wanted):
    titles = page.evaluate("Array.from(document.querySelectorAll('h3')).map((e) => e.textContent)")
    missing = [title for title in wanted if title not in titles]
    assert not missing, f"{name}: no {missing}"
    page.wait_until_drawn()
    assert page.evaluate("document.querySelectorAll('canvas').length") >= 10, name
    assert not page.evaluate(TOO_WIDE), f"{name}: wider than the window"
    assert page.evaluate("document.querySelector('h1').textContent") == "Under </script> & test"
    assert page.errors() == [], f"{name}: {page.errors()}"
    assert page.requests() == [], f"{name}: {page.requests()}"


def main():
    sheaf = sys.argv[1]
    kept = sys.argv[2] if len(sys.argv) > 2 else None
    with Browser() as browser, tempfile.TemporaryDirectory() as scratch:
        folder = Path(kept or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "study.toml"
        config.write_text(CONFIG)
        subprocess.run([sheaf, "study", str(config), "--out", str(folder / "study")], check=True)
        report = json.loads((folder / "study/report.json").read_text())
        assert sum(1 for _ in shown_numbers(report)) > 100
        wanted = check_published(report)
        url = (folder / "study/report.html").resolve().as_uri()
        for width, height, device in ((390, 844, "phone"), (1280, 900, "desktop")):
            for dark in (False, True):
                name = f"{device}_{'dark' if dark else 'light'}"
                page = browser.open(url, width, height, dark)
                check_page(page, name, wanted)
                background = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (background == "rgb(16, 20, 27)") == dark, f"{name}: {background}"
                page.screenshot(str(folder / f"{name}.png"))
    print("the report is whole in all four")


if __name__ == "__main__":
    main()
