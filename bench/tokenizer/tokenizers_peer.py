"""Times the `tokenizers` package on a text, with one thread.

    tokenizers_peer.py TOKENIZER_JSON TEXT_FILE DOCUMENTS_FILE REPETITIONS

Prints one JSON object: seconds of each repetition for the whole text at once and for its documents
one by one, and the number of tokens.
"""
import json
import os
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def timed(repetitions, run):
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds


def main():
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8", newline="") as file:
        text = file.read()
    with open(sys.argv[3], encoding="utf-8", newline="") as file:
        documents = file.read().split("<|endoftext|>")
    repetitions = int(sys.argv[4])
    result = {
        "tokens": len(tokenizer.encode(text).ids),
        "whole": timed(repetitions, lambda: tokenizer.encode(text)),
        "fast": timed(repetitions, lambda: tokenizer.encode_batch_fast([text])),
        "documents": timed(repetitions, lambda: [tokenizer.encode(each) for each in documents]),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
