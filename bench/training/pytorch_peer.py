"""The PyTorch side of bench/strategies and bench/cpu_training: one rank, started by torchrun.

The model, the data and the steps are those of gpt.cpp and one_rank.cpp. The strategies are the ones PyTorch
itself offers: DistributedDataParallel, ZeroRedundancyOptimizer around AdamW, and FSDP2.
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, HEADS, VOCABULARY, CONTEXT = 384, 6, 6, 8192, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.qkv(x).split(WIDTH, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        y = x + self.attend(self.norm1(x))
        return y + self.down(F.gelu(self.up(self.norm2(y)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.empty(CONTEXT, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        torch.manual_seed(0)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 0.02)
                if name.endswith("bias"):
                    parameter.zero_()

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions
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
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
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


def train(args):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    random = torch.Generator().manual_seed(1 + rank)
    tokens, targets = (
        torch.randint(VOCABULARY, (args.batch, CONTEXT), generator=random) for _ in range(2)
    )
    model, optimizer = with_strategy(Gpt(), args)
    times = []
    for _ in range(args.warm_up + args.steps):
        began = time.perf_counter()
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - began)
    mean = loss.detach() / ranks
    dist.all_reduce(mean)
    return {
        "tokens_per_second": ranks * tokens.numel() / statistics.median(times[args.warm_up :]),
        "peak_mb": rss_mb("VmHWM"),
        "loss": mean.item(),
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
    parser.add_argument("--no-fused", action="store_true", help="AdamW's default implementation")
    args = parser.parse_args()
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
