"""Other programs' view of a checkpoint: checkpoint_peer.py CHECKPOINT EXPORTS

Loads the checkpoint's folder with transformers, its tokenizer of bytes as well, and with torch.distributed.checkpoint (its reader of
Hugging Face's folders), and what was exported to EXPORTS: model.safetensors, model.pt, all.pt (files
of torch.load) and dcp (a folder of torch.distributed.checkpoint). Every tensor is compared, bit for
bit, with what the package safetensors reads from the checkpoint's own files. Prints one JSON object
with the number of tensors that each has given; whatever differs ends the program with its name.
"""

import glob
import json
import os
import sys
import warnings

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

warnings.filterwarnings("ignore")


def files(folder, stem):
    tensors = {}
    for path in sorted(glob.glob(os.path.join(folder, stem + "*.safetensors"))):
        tensors.update(load_file(path))
    return tensors


def same(what, actual, expected):
    if set(actual) != set(expected):
        sys.exit(f"{what}: other names: {sorted(set(actual) ^ set(expected))}")
    for name, tensor in expected.items():
        given = actual[name].detach()
        if given.dtype != tensor.dtype or given.shape != tensor.shape or not torch.equal(given, tensor):
            sys.exit(f"{what}: {name} differs")
    return len(actual)


def read_dcp(reader, expected):
    state = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    dcp.load(state, storage_reader=reader, no_dist=True)
    return state


def tokens(checkpoint):
    text = "Once upon a time, in a füture."
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    ids = tokenizer(text)["input_ids"]
    if ids != list(text.encode()):
        sys.exit(f"the tokenizer: other tokens than the text's bytes: {ids}")
    if tokenizer.decode(ids) != text:
        sys.exit(f"the tokenizer: {tokenizer.decode(ids)}")
    return len(ids)


def main():
    checkpoint, exports = sys.argv[1], sys.argv[2]
    weights = files(checkpoint, "model")
    everything = {**weights, **files(checkpoint, "state")}
    model = AutoModelForCausalLM.from_pretrained(checkpoint, torch_dtype=torch.float32)
    loaded = {name: tensor for name, tensor in model.state_dict().items() if name in weights}
    at = lambda name: os.path.join(exports, name)
    counts = {
        "tokens": tokens(checkpoint),
        "transformers": same("transformers", loaded, weights),
        "safetensors": same("safetensors", load_file(at("model.safetensors")), weights),
        "torch": same("torch.load", torch.load(at("model.pt"), weights_only=True), weights),
        "torch_all": same("torch.load of all", torch.load(at("all.pt"), weights_only=True), everything),
        "dcp": same("dcp", read_dcp(dcp.FileSystemReader(at("dcp")), everything), everything),
        "dcp_as_it_is": same(
            "dcp of the folder", read_dcp(dcp.HuggingFaceStorageReader(checkpoint), everything), everything
        ),
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
