"""Takes the picture of a report that README shows.

usage: screenshot.py REPORT.html PICTURE.png
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser


def main():
    report, picture = Path(sys.argv[1]).resolve(), sys.argv[2]
    with Browser() as browser:
        page = browser.open(report.as_uri(), 1120, 1180, dark=False)
        page.screenshot(picture)


if __name__ == "__main__":
    main()
