"""Watches two runs at once in a browser, while they go on.

usage: watch_in_browser.py SHEAF [FOLDER]     FOLDER keeps the screenshot
"""

import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import TOO_WIDE, Browser


def start_run(sheaf, folder, ranks, stage):
    options = "--model.preset=gpt2-tiny --model.layers=2 --model.width=32 --model.heads=2 --model.context=16"
    return subprocess.Popen(
        [sheaf, "train", *options.split(), "--data.source=stories", "--data.size=4000", "--batch.global=4"]
        + ["--train.steps=100000000", "--train.evaluate=false", "--train.sample_tokens=0", f"--shard.stage={stage}"]
        + [f"--log.dir={folder}", "--log.tensorboard=false", "--ranks", str(ranks)],
        stdout=subprocess.DEVNULL,
    )


def start_watch(sheaf, folder):
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([sheaf, "watch", str(folder)], stdout=subprocess.PIPE, text=True)
    url = re.match(r"(http://127\.0\.0\.1:(\d+)/)", process.stdout.readline())
    return process, url.group(1), int(url.group(2))


def ask(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(text.encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer.decode(errors="replace")


def check_refusals(port, folder):
    (folder / "secret.txt").write_text("a secret")
    for path in ("/../secret.txt", "/secret.txt", "/%2e%2e/secret.txt", "//etc/passwd", "/metrics/../../secret.txt"):
        answer = ask(port, f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")
        assert answer.startswith("HTTP/1.1 404"), answer[:200]
        assert "secret" not in answer.split("\r\n\r\n", 1)[1]
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", ""):
        answer = ask(port, f"GET /metrics?since=0 HTTP/1.1\r\nHost: {host}\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403"), answer[:200]
    assert ask(port, f"POST / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").startswith("HTTP/1.1 405")
    assert ask(port, "garbage\r\n\r\n").startswith("HTTP/1.1 400")


STEP = "Number(document.querySelector('.figure b')?.firstChild?.textContent.replaceAll(',', '') ?? 0)"


def watch_both(browser, sheaf, folder, processes):
    pages = []
    for name, ranks, stage in (("one", 1, "ddp"), ("two", 2, "zero3")):
        processes.append(start_run(sheaf, folder / name, ranks, stage))
        watch, url, port = start_watch(sheaf, folder / name)
        processes.append(watch)
        pages.append((browser.open(url, 1280, 900, name == "two"), port, ranks, stage))
    for page, port, ranks, stage in pages:
        page.wait_for(f"{STEP} > 5")
        page.evaluate(f"window.seen = {STEP}")
        page.wait_for(f"{STEP} > window.seen + 5")
        title = page.evaluate("document.querySelector('h1').textContent")
        assert f"{stage} on {ranks} rank" in title, title
        page.wait_for(f"document.querySelectorAll('tbody tr').length === {ranks}")
        page.wait_until_drawn()
        assert not page.evaluate(TOO_WIDE)
        assert page.errors() == [], page.errors()
        assert all(url.startswith("http://127.0.0.1:") for url in page.requests()), page.requests()
        check_refusals(port, folder)
    return pages


def main():
    sheaf = sys.argv[1]
    kept = sys.argv[2] if len(sys.argv) > 2 else None
    processes = []
    with Browser() as browser, tempfile.TemporaryDirectory() as scratch:
        folder = Path(kept or scratch)
        try:
            pages = watch_both(browser, sheaf, folder, processes)
            pages[1][0].screenshot(str(folder / "watch.png"))
            runs, watches = processes[0::2], processes[1::2]
            assert all(run.poll() is None for run in runs), "a run has ended while it was watched"
            for watch in watches:
                watch.terminate()
                assert watch.wait(timeout=60) == 0, "sheaf watch did not end by itself"
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
    print("both runs were seen, strangers were not let in")


if __name__ == "__main__":
    main()
