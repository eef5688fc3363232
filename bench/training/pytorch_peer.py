"""The PyTorch side of bench/strategies, cpu_training and gpu_ranks: one rank, started by torchrun.

The model, the data and the steps are those of gpt.cpp and one_rank.cpp. The strategies are the ones PyTorch
itself offers: DistributedDataParallel, ZeroRedundancyOptimizer around AdamW, and FSDP2. On a GPU all ranks
share it and talk over gloo.
"""

import argparse
import json
import os
import statistics
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


@dataclass
class Shape:
    width: int
    layers: int
    heads: int
    vocabulary: int
    context: int


SHAPES = {"14m": Shape(384, 6, 6, 8192, 256), "124m": Shape(768, 12, 12, 50257, 1024)}
TEXT_LENGTH = 256


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.norm1 = nn.LayerNorm(shape.width)
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)
        self.norm2 = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        y = x + self.attend(self.norm1(x))
        return y + self.down(F.gelu(self.up(self.norm2(y)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Parameter(torch.empty(shape.context, shape.width))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        torch.manual_seed(0)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 0.02)
                if name.endswith("bias"):
                    parameter.zero_()

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def with_strategy(model, args):
    """Returns the model and the optimizer for one strategy."""
    settings = {"lr": args.learning_rate, "fused": not args.no_fused}
    if args.strategy == "alone":
        return model, torch.optim.AdamW(model.parameters(), **settings)
    if args.strategy == "ddp":
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
        return model, torch.optim.AdamW(model.parameters(), **settings)
    if args.strategy == "zero1":
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
        return model, ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.AdamW, **settings
        )
    mesh = init_device_mesh(args.device, (dist.get_world_size(),))
    reshard = args.strategy == "zero3"
    for block in model.blocks:
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
    return model, torch.optim.AdamW(model.parameters(), **settings)


def rss_mb(field):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"/proc/self/status has no {field}")


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
        return rss_mb("VmHWM"), 0
    free, total = torch.cuda.mem_get_info()
    return torch.cuda.max_memory_allocated() / 1e6, (total - free) / 1e6


def train(args):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    shape = SHAPES[args.size]
    random = torch.Generator().manual_seed(1 + rank)
    tokens, targets = (
        torch.randint(shape.vocabulary, (args.batch, TEXT_LENGTH), generator=random).to(args.device)
        for _ in range(2)
    )
    model, optimizer = with_strategy(Gpt(shape).to(args.device), args)
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
