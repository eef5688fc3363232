"""GPT-2 and SmolLM3 as a careful user of PyTorch writes them. `attend` is what computes attention."""

import torch
import torch.nn.functional as F
from torch import nn


def split_heads(x, heads):
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


def whole_loss(hidden, table, targets):
    """Targets never name the tokens that only pad the vocabulary. Autocast computes the loss in fp32."""
    logits = F.linear(hidden, table)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Gpt2Block(nn.Module):
    def __init__(self, shape, attend):
        super().__init__()
        self.heads, self.attend = shape.heads, attend
        self.norm1 = nn.LayerNorm(shape.width)
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)
        self.norm2 = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, shape.hidden)
        self.down = nn.Linear(shape.hidden, shape.width)

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).split(x.shape[-1], -1)
        q, k, v = (split_heads(part, self.heads) for part in parts)
        x = x + self.out(join_heads(self.attend(q, k, v)))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, shape, attend):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Parameter(torch.empty(shape.length, shape.width))
        self.blocks = nn.ModuleList(Gpt2Block(shape, attend) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return whole_loss(self.norm(x), self.tokens.weight, targets)


def rotate(x, cosines, sines):
    first, second = x.chunk(2, -1)
    return x * cosines + torch.cat((-second, first), -1) * sines


class SmolLm3Block(nn.Module):
    def __init__(self, shape, attend, is_rotary):
        super().__init__()
        self.shape, self.attend, self.is_rotary = shape, attend, is_rotary
        query, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
        self.widths = (query, keys, keys)
        self.norm1 = nn.RMSNorm(shape.width, shape.epsilon)
        self.qkv = nn.Linear(shape.width, query + 2 * keys, bias=False)
        self.out = nn.Linear(query, shape.width, bias=False)
        self.norm2 = nn.RMSNorm(shape.width, shape.epsilon)
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x, cosines, sines):
        q, k, v = self.qkv(self.norm1(x)).split(self.widths, -1)
        q = split_heads(q, self.shape.heads)
        k, v = (split_heads(part, self.shape.kv_heads) for part in (k, v))
        if self.is_rotary:
            q, k = rotate(q, cosines, sines), rotate(k, cosines, sines)
        x = x + self.out(join_heads(self.attend(q, k, v)))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class SmolLm3(nn.Module):
    def __init__(self, shape, attend):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        every = shape.no_rope_interval
        self.blocks = nn.ModuleList(
            SmolLm3Block(shape, attend, every == 0 or (layer + 1) % every != 0)
            for layer in range(shape.layers)
        )
        self.norm = nn.RMSNorm(shape.width, shape.epsilon)
        places = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
        angles = torch.outer(
            torch.arange(shape.length, dtype=torch.float32), shape.rope_theta**-places
        ).repeat(1, 2)
        dtype = self.tokens.weight.dtype
        self.register_buffer("cosines", angles.cos().to(dtype))
        self.register_buffer("sines", angles.sin().to(dtype))

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, self.cosines, self.sines)
        return whole_loss(self.norm(x), self.tokens.weight, targets)


MODELS = {"gpt2": Gpt2, "llama": SmolLm3}


def make_model(shape, attend, dtype, device):
    """Returns a model with weights as both families begin: N(0, 0.02), biases 0, norms 1."""
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = MODELS[shape.family](shape, attend)
    torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.02)
            if name.endswith("bias"):
                parameter.zero_()
    return model
