"""One rank of the PyTorch side of `sheaf bench --against pytorch`, started by torchrun; bench/training takes its model.

The weights, the batches and the optimizer's settings are those of sheaf's own runs, from the files that
settings.json names. The strategies are the ones that PyTorch itself has: DistributedDataParallel,
ZeroRedundancyOptimizer around AdamW, and FSDP2 with and without resharding after forward.
"""

import argparse
import hashlib
import json
import os
import struct
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, hidden = shape["width"], shape["hidden"]
        self.heads = shape["heads"]
        self.ln_1 = nn.LayerNorm(width, eps=shape["epsilon"])
        self.c_attn = nn.Linear(width, 3 * width)
        self.attn_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width, eps=shape["epsilon"])
        self.c_fc = nn.Linear(width, hidden)
        self.mlp_proj = nn.Linear(hidden, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.c_attn(x).split(width, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.attn_proj(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        y = x + self.attend(self.ln_1(x))
        return y + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(y)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.wte = nn.Embedding(shape["vocabulary"], shape["width"])
        self.wpe = nn.Embedding(shape["context"], shape["width"])
        self.h = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.ln_f = nn.LayerNorm(shape["width"], eps=shape["epsilon"])

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        values = bytearray(file.read())
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        tensor = torch.frombuffer(values[begin:end], dtype=torch.float32)
        yield name.removeprefix("transformer."), tensor.view(entry["shape"])


def load_weights(model, folder):
    """Hugging Face's GPT-2 keeps the weights of its layers as [in, out], nn.Linear the other way."""
    own = dict(model.named_parameters())
    renamed = {"attn.c_attn": "c_attn", "attn.c_proj": "attn_proj", "mlp.c_fc": "c_fc", "mlp.c_proj": "mlp_proj"}
    filled = set()
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".safetensors")):
        for name, tensor in safetensors(os.path.join(folder, file)):
            linear = next((old for old in renamed if f".{old}." in name), None)
            if linear:
                name = name.replace(linear, renamed[linear])
                tensor = tensor.t() if tensor.dim() == 2 else tensor
            if name in own:
                own[name].data.copy_(tensor)
                filled.add(name)
    missing = own.keys() - filled
    if missing:
        raise SystemExit(f"the weights have no {sorted(missing)[0]}")


def with_strategy(model, strategy, settings):
    """Returns the model and its optimizer. Biases and norms do not decay."""

    def groups():
        decay = [p for p in model.parameters() if p.dim() > 1 or settings["decay_vectors"]]
        others = [p for p in model.parameters() if p.dim() <= 1 and not settings["decay_vectors"]]
        parts = [(decay, settings["weight_decay"]), (others, 0.0)]
        return [{"params": params, "weight_decay": rate} for params, rate in parts if params]

    how = {
        "lr": settings["learning_rates"][0],
        "betas": (settings["beta1"], settings["beta2"]),
        "eps": settings["epsilon"],
        "fused": settings.get("fused", True),
    }
    if strategy == "alone":
        return model, torch.optim.AdamW(groups(), **how)
    if strategy in ("ddp", "zero1"):
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
        if strategy == "ddp":
            return model, torch.optim.AdamW(groups(), **how)
        return model, ZeroRedundancyOptimizer(groups(), optimizer_class=torch.optim.AdamW, **how)
    mesh = init_device_mesh(settings["device"], (dist.get_world_size(),))
    reshard = strategy == "zero3"
    for block in model.h:
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
    return model, torch.optim.AdamW(groups(), **how)


def set_exchanging(model, last):
    """Only the last pass of a step exchanges gradients."""
    if isinstance(model, DistributedDataParallel):
        model.require_backward_grad_sync = last
    else:
        model.set_requires_gradient_sync(last)


def own_rows(settings, step, rank, ranks):
    rows, length = settings["global"], settings["length"]
    share = rows // ranks
    offset = step * 2 * rows * length
    batch = settings["values"][offset : offset + 2 * rows * length].view(2, rows, length)
    return (part[rank * share : (rank + 1) * share].to(settings["device"]) for part in batch)


def take_step(model, optimizer, settings, step):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    tokens, targets = own_rows(settings, step, rank, ranks)
    for group in optimizer.param_groups:
        group["lr"] = settings["learning_rates"][step]
    passes = list(zip(tokens.split(settings["micro"]), targets.split(settings["micro"])))
    total = torch.zeros((), device=settings["device"])
    for index, (inputs, wanted) in enumerate(passes):
        set_exchanging(model, index + 1 == len(passes))
        loss = model(inputs, wanted) / len(passes)
        loss.backward()
        total += loss.detach()
    if settings["clip"] > 0:
        nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
    optimizer.step()
    optimizer.zero_grad()
    mean = total / ranks
    dist.all_reduce(mean)
    return mean.item()


def weights_hash(model):
    digest = hashlib.sha256()
    for parameter in model.parameters():
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        digest.update(whole.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def peak_rss():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def peak_bytes(device):
    return torch.cuda.max_memory_allocated() if device == "cuda" else 0


def train(strategy, settings):
    model = Gpt2(settings["shape"])
    load_weights(model, settings["weights"])
    model, optimizer = with_strategy(model.to(settings["device"]), strategy, settings)
    seconds, losses = [], []
    for step in range(settings["steps"]):
        began = time.perf_counter()
        losses.append(take_step(model, optimizer, settings, step))
        seconds.append(time.perf_counter() - began)
    memory = [None] * dist.get_world_size()
    dist.all_gather_object(memory, (peak_rss(), peak_bytes(settings["device"])))
    hashes = [None] * dist.get_world_size()
    dist.all_gather_object(hashes, weights_hash(model))
    return {
        "seconds": seconds,
        "losses": losses,
        "resident": max(rss for rss, _ in memory),
        "allocated": max(peak for _, peak in memory),
        "odd_ranks": [rank for rank, each in enumerate(hashes) if each != hashes[0]],
        "torch": torch.__version__,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings")
    parser.add_argument("strategy", choices=["ddp", "zero1", "zero2", "zero3"])
    arguments = parser.parse_args()
    with open(arguments.settings) as file:
        settings = json.load(file)
    with open(settings["batches"], "rb") as file:
        settings["values"] = torch.frombuffer(bytearray(file.read()), dtype=torch.int64)
    if settings["device"] == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    alone_on_gpu = settings["device"] == "cuda" and torch.cuda.device_count() >= int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl" if alone_on_gpu else "gloo")
    torch.set_num_threads(max(1, settings["cores"] // dist.get_world_size()))
    result = train(arguments.strategy, settings)
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    # Destroying a gloo group aborts or hangs now and then: all are done, so the process just ends.
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
