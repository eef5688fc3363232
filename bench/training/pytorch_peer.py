"""The PyTorch side of bench/strategies, cpu_training and gpu_ranks: one rank, started by torchrun.

The model, the data and the steps are those of gpt.cpp and one_rank.cpp. The model and the strategies are written once,
for `sheaf bench --against pytorch`. On a GPU all ranks share it and talk over gloo.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

# The file of the same name that is inside the program: found first.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/study/embedded"))
from pytorch_peer import Gpt2, peak_rss, with_strategy


def shape(width, layers, heads, vocabulary, context):
    return {
        "width": width,
        "layers": layers,
        "heads": heads,
        "hidden": 4 * width,
        "vocabulary": vocabulary,
        "context": context,
        "epsilon": 1e-5,
    }


SHAPES = {"14m": shape(384, 6, 6, 8192, 256), "124m": shape(768, 12, 12, 50257, 1024)}
TEXT_LENGTH = 256


def initialized(model):
    """gpt.cpp lists its table of positions first, so that it takes the first random numbers."""
    torch.manual_seed(0)
    parameters = dict(model.named_parameters())
    positions = {"wpe.weight": parameters.pop("wpe.weight")}
    with torch.no_grad():
        for name, parameter in (positions | parameters).items():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.02)
            if name.endswith("bias"):
                parameter.zero_()
    return model


def adamw(args):
    """torch's own defaults, as with_strategy wants them."""
    return {
        "learning_rates": [args.learning_rate],
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "weight_decay": 1e-2,
        "decay_vectors": True,
        "fused": not args.no_fused,
        "device": args.device,
    }


def time_steps(step, args):
    """Returns how long a step takes: on the CPU the median; on a GPU, which runs behind the host, the mean."""
    on_gpu = args.device == "cuda"
    for _ in range(args.warm_up):
        step()
    if on_gpu:
        torch.cuda.synchronize()
    dist.barrier()
    times = []
    start = time.perf_counter()
    for _ in range(args.steps):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    if not on_gpu:
        return statistics.median(times)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / args.steps


def memory(args):
    """Returns what a rank held at most, and what all processes together hold of the GPU."""
    if args.device == "cpu":
        return peak_rss() / 1e6, 0
    free, total = torch.cuda.mem_get_info()
    return torch.cuda.max_memory_allocated() / 1e6, (total - free) / 1e6


def train(args):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    random = torch.Generator().manual_seed(1 + rank)
    tokens, targets = (
        torch.randint(SHAPES[args.size]["vocabulary"], (args.batch, TEXT_LENGTH), generator=random).to(args.device)
        for _ in range(2)
    )
    model = initialized(Gpt2(SHAPES[args.size])).to(args.device)
    model, optimizer = with_strategy(model, args.strategy, adamw(args))
    last = []

    def step():
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        last[:] = [loss.detach()]

    seconds = time_steps(step, args)
    mean = (last[0] / ranks).cpu()
    dist.all_reduce(mean)
    peak, used = memory(args)
    most = torch.tensor(float(peak))
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return {
        "tokens_per_second": ranks * tokens.numel() / seconds,
        "step_ms": seconds * 1e3,
        "peak_mb": most.item(),
        "gpu_used_mb": used,
        "loss": mean.item(),
        "backend": dist.get_backend(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--strategy", required=True, choices=["alone", "ddp", "zero1", "zero2", "zero3"]
    )
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--size", choices=list(SHAPES), default="14m")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-fused", action="store_true", help="AdamW's default implementation")
    args = parser.parse_args()
    if args.device == "cuda":
        torch.cuda.set_device(0)
        torch.backends.cuda.matmul.allow_tf32 = False
    dist.init_process_group("gloo")
    torch.set_num_threads(max(1, os.cpu_count() // dist.get_world_size()))
    result = train(args)
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    # Destroying a gloo group aborts or hangs now and then: all are done, so the process just ends.
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
