"""Times torch.distributed.checkpoint on a state of one process.

    dcp_peer.py FOLDER MEBIBYTES TENSORS REPETITIONS

The state has TENSORS fp32 tensors of MEBIBYTES together. Prints one JSON object: seconds of each save
(with fsync, as is the default), of each load into tensors that are there (files dropped from the
page cache before), of each asynchronous save until training could go on, and by how many bytes the
process grew at most in a save and in a load.
"""

import glob
import json
import os
import shutil
import sys
import time
import warnings

import torch
import torch.distributed.checkpoint as dcp

warnings.filterwarnings("ignore")


def status(key):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    raise SystemExit("no " + key)


def measured(run):
    """Seconds, and by how many bytes the process grew at most."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    start = time.perf_counter()
    run()
    return time.perf_counter() - start, status("VmHWM") - before


def drop_from_cache(folder):
    for path in glob.glob(os.path.join(folder, "*")) + glob.glob(os.path.join(folder, ".*")):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    folder, mebibytes, count, repetitions = sys.argv[1], *map(int, sys.argv[2:5])
    numel = mebibytes * (1 << 20) // 4 // count
    state = {f"tensor{i}": torch.randn(numel) for i in range(count)}
    result = {"save": [], "load": [], "stall": [], "save_growth": 0, "load_growth": 0}
    for _ in range(repetitions + 1):
        shutil.rmtree(folder, ignore_errors=True)
        seconds, growth = measured(lambda: dcp.save(state, checkpoint_id=folder, no_dist=True))
        result["save"].append(seconds)
        result["save_growth"] = max(result["save_growth"], growth)
        drop_from_cache(folder)
        seconds, growth = measured(lambda: dcp.load(state, checkpoint_id=folder, no_dist=True))
        result["load"].append(seconds)
        result["load_growth"] = max(result["load_growth"], growth)
    for key in ("save", "load"):
        result[key] = result[key][1:]
    for _ in range(repetitions):
        shutil.rmtree(folder, ignore_errors=True)
        start = time.perf_counter()
        future = dcp.async_save(state, checkpoint_id=folder, no_dist=True)
        result["stall"].append(time.perf_counter() - start)
        future.result()
    shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
