"""Encodes texts with the `tokenizers` package, or with tiktoken, for a test to compare with.

    tokenizers_peer.py --check
    tokenizers_peer.py encode TOKENIZER_JSON TEXTS OUT
    tokenizers_peer.py tiktoken VOCAB_JSON TEXTS OUT
    tokenizers_peer.py train SIZE PATTERN TEXT_FILE OUT

TEXTS is a JSON list of bytes in hexadecimal. Python's strings cannot hold broken UTF-8, so each text
is decoded with U+FFFD in its place; OUT has that text too.
"""
import json
import sys

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def read_texts(path):
    with open(path, encoding="utf-8") as file:
        return [bytes.fromhex(text).decode("utf-8", errors="replace") for text in json.load(file)]


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def encode(tokenizer_path, texts_path, out_path):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(tokenizer_path)
    results = []
    for text in read_texts(texts_path):
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        results.append(
            {
                "text": text.encode().hex(),
                "tokens": plain,
                "complete": tokenizer.encode(text).ids,
                "decoded": tokenizer.decode(plain, skip_special_tokens=False).encode().hex(),
            }
        )
    write(out_path, results)


def byte_letters():
    """GPT-2's letter of each byte."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters, extra = {}, 0x100
    for byte in range(256):
        if byte in kept:
            letters[chr(byte)] = byte
        else:
            letters[chr(extra)] = byte
            extra += 1
    return letters


def tiktoken_encode(vocab_path, texts_path, out_path):
    import tiktoken

    # tiktoken would fetch its own file; GPT-2's ids are its ranks, so the vocabulary says the same.
    letters = byte_letters()
    with open(vocab_path, encoding="utf-8") as file:
        vocabulary = json.load(file)
    end = "<|endoftext|>"
    ranks = {
        bytes(letters[c] for c in token): rank for token, rank in vocabulary.items() if token != end
    }
    encoding = tiktoken.Encoding(
        "gpt2-from-files", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={end: vocabulary[end]}
    )
    results = []
    for text in read_texts(texts_path):
        tokens = encoding.encode(text, allowed_special="all")
        results.append({"text": text.encode().hex(), "tokens": tokens})
    write(out_path, results)


def train(size, pattern, text_path, out_path):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    if pattern == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=int(size),
        min_frequency=2,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    with open(text_path, encoding="utf-8", newline="") as file:
        tokenizer.train_from_iterator([file.read()], trainer)
    tokenizer.save(out_path)


def main():
    if sys.argv[1] == "--check":
        import tiktoken  # noqa: F401
        import tokenizers  # noqa: F401

        return
    {"encode": encode, "tiktoken": tiktoken_encode, "train": train}[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
