"""A rank of PyTorch that trains what pytorch_ranks.cpp trains: pytorch_peer.py STRATEGY START RESULT."""

import json
import math
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

TYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
NAMES = {dtype: name for name, dtype in TYPES.items()}
VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS = 31, 12, 24, 2, 3
ADAMW = {"lr": 1e-2, "eps": 1e-4, "weight_decay": 0.1}


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        values = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            count = math.prod(entry["shape"])
            flat = torch.frombuffer(
                values, dtype=TYPES[entry["dtype"]], count=count, offset=entry["data_offsets"][0]
            )
            tensors[name] = flat.reshape(entry["shape"]).clone()
    return tensors


def write_safetensors(path, tensors):
    header, values = {}, bytearray()
    for name, tensor in tensors.items():
        begin = len(values)
        values += bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist())
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, len(values)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + values)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def forward(self, x):
        y = x + self.attend(self.norm1(x))
        return y + self.down(F.gelu(self.up(self.norm2(y))))


class Gpt(nn.Module):
    """PytorchGpt of pytorch_gpt.cpp; why there are no biases before a softmax is told there."""

    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(CONTEXT, WIDTH))
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, text):
        x = self.tokens(text[:, :-1]) + self.positions
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), text[:, 1:].flatten())


def prepare(strategy, model):
    """Returns what is called and what steps it."""
    if strategy in ("fsdp2", "fsdp2_kept"):
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for part in (*model.blocks, model):
            fully_shard(part, mesh=mesh, reshard_after_forward=strategy == "fsdp2")
        return model, torch.optim.AdamW(model.parameters(), **ADAMW)
    wrapped = DistributedDataParallel(model)
    if strategy == "ddp":
        return wrapped, torch.optim.AdamW(model.parameters(), **ADAMW)
    if strategy == "ddp_zero":
        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.AdamW, **ADAMW
        )
        return wrapped, optimizer
    raise SystemExit(f"the strategy must be ddp, ddp_zero, fsdp2 or fsdp2_kept, not {strategy}")


def train(wrapped, optimizer, text):
    losses = torch.zeros(len(text), dtype=torch.float64)
    for step, batch in enumerate(text):
        loss = wrapped(batch.chunk(dist.get_world_size())[dist.get_rank()])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[step] = loss.item() / dist.get_world_size()
    dist.all_reduce(losses)
    return losses


def main():
    strategy, start_path, result_path = sys.argv[1:]
    dist.init_process_group("gloo")
    start = read_safetensors(start_path)
    text = start.pop("text")
    model = Gpt()
    # The head has the embedding's values, which the file has once.
    model.load_state_dict({**start, "head.weight": start["tokens.weight"]})
    wrapped, optimizer = prepare(strategy, model)
    result = {"losses": train(wrapped, optimizer, text)}
    for name, value in model.named_parameters():
        result[name] = value.full_tensor() if isinstance(value, DTensor) else value
    if dist.get_rank() == 0:
        write_safetensors(result_path, result)
    # Destroying a gloo group can hang: it waits for a thread that waits for Python's lock, to let
    # go of a tensor. All is written and closed, so the process may just end.
    os._exit(0)


if __name__ == "__main__":
    main()
