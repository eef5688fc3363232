"""Reads the event files of a folder with TensorBoard's own reader and prints them as JSON.

Numbers are printed as text, because JSON has no NaN. With --check it only says whether TensorBoard
is installed, by its exit status.
"""
import json
import sys


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    # 0: keep all that is in the files, not a sample of it.
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    texts = events.PluginTagToContent("text") if tags["tensors"] else []
    return {
        "file_version": events.file_version,
        "scalars": {
            tag: [[event.step, repr(event.value)] for event in events.Scalars(tag)]
            for tag in tags["scalars"]
        },
        "wall_times": [event.wall_time for event in events.Scalars("loss")],
        "texts": {
            tag: [
                [event.step, event.tensor_proto.string_val[0].decode()]
                for event in events.Tensors(tag)
            ]
            for tag in texts
        },
    }


def main():
    if sys.argv[1] == "--check":
        import tensorboard  # noqa: F401
    else:
        print(json.dumps(read(sys.argv[1])))


if __name__ == "__main__":
    main()
