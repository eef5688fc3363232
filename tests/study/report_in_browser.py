"""Makes a study of a minute and opens its report in a browser: phone and desktop, light and dark.

usage: report_in_browser.py SHEAF [FOLDER]     FOLDER keeps the study and the screenshots
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import ALL_DRAWN, TOO_WIDE, Browser

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
# What the published studies have: all of these must be in ours.
TITLES = [
    "Sharding comparison",
    "Micro-batch to the limit",
    "Time, speed-up and throughput",
    "Idle, compute and non-compute time",
    "Additional overhead against one device",
    "Overlap and exposed communication",
    "From one rank to ddp",
    "From ddp to zero3",
    "From ddp to zero2",
    "Communication pattern",
    "Projected (not measured)",
    "Memory against communication",
    "Memory at the peak, by purpose",
    "Memory within one step, one rank",
    "Cumulative",
    "Throughput against micro-batch",
    "Healthy-run thresholds",
    "Exact commands",
]


def shown_numbers(report):
    for section in report["sections"]:
        for block in section["blocks"]:
            if block["kind"] != "table":
                continue
            for row in block["rows"]:
                yield from (value for value in row if isinstance(value, (int, float)) and not isinstance(value, bool))


def check_page(page, name):
    titles = page.evaluate("Array.from(document.querySelectorAll('h3')).map((e) => e.textContent)")
    missing = [title for title in TITLES if title not in titles]
    assert not missing, f"{name}: no {missing}"
    assert page.evaluate(ALL_DRAWN) == [], f"{name}: charts that are blank: {page.evaluate(ALL_DRAWN)}"
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
        url = (folder / "study/report.html").resolve().as_uri()
        for width, height, device in ((390, 844, "phone"), (1280, 900, "desktop")):
            for dark in (False, True):
                name = f"{device}_{'dark' if dark else 'light'}"
                page = browser.open(url, width, height, dark)
                check_page(page, name)
                background = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (background == "rgb(16, 20, 27)") == dark, f"{name}: {background}"
                page.screenshot(str(folder / f"{name}.png"))
    print("the report is whole in all four")


if __name__ == "__main__":
    main()
