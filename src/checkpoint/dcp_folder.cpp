#include <filesystem>

#include "checkpoint/torch_file.h"

// What torch.distributed.checkpoint writes: every tensor is a file of torch.save() of its own, one
// after the other in __0_0.distcp, and .metadata, a pickled object, says which is where.

namespace sheaf::checkpoint {
namespace {

constexpr std::string_view kDataName = "__0_0.distcp";
constexpr std::string_view kMetadata = "torch.distributed.checkpoint.metadata";
constexpr std::string_view kStorage = "torch.distributed.checkpoint.filesystem";

/// Where a tensor's own file of torch.save() lies.
struct Extent {
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

std::vector<Extent> write_data(const std::string& path,
                               const Reader& reader,
                               const std::vector<const SavedTensor*>& tensors,
                               Disk& disk) {
  const File file = disk.create(path, 0);
  Appending data(file, disk);
  std::vector<Extent> extents;
  for (const SavedTensor* saved : tensors) {
    const std::uint64_t begin = data.end();
    Pickle object;
    object.tensor(saved->tensor, "0");
    write_torch(data, object.finish(), reader, {saved});
    extents.push_back(
        {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(data.end() - begin)});
  }
  disk.sync(file);
  return extents;
}

void add_tensor(Pickle& pickle, const TensorSpec& tensor) {
  pickle.begin_call(kMetadata, "TensorStorageMetadata");
  pickle.begin_call(kMetadata, "TensorProperties");
  pickle.global("torch", torch_name(tensor.dtype));
  pickle.end_call();
  pickle.size(tensor.shape);
  pickle.begin_list();
  pickle.begin_call(kMetadata, "ChunkStorageMetadata");
  pickle.size(std::vector<std::int64_t>(tensor.shape.size()));
  pickle.size(tensor.shape);
  pickle.end_call();
  pickle.end_list();
  pickle.end_call();
}

void add_place(Pickle& pickle, const TensorSpec& tensor, const Extent& extent) {
  pickle.begin_call(kMetadata, "MetadataIndex");
  pickle.text(tensor.name);
  pickle.size(std::vector<std::int64_t>(tensor.shape.size()));
  pickle.end_call();
  pickle.begin_call(kStorage, "_StorageInfo");
  pickle.text(kDataName);
  pickle.integer(extent.offset);
  pickle.integer(extent.length);
  pickle.end_call();
}

std::string metadata_of(const std::vector<const SavedTensor*>& tensors,
                        const std::vector<Extent>& extents) {
  Pickle pickle;
  pickle.begin_call(kMetadata, "Metadata");
  pickle.begin_dict();
  for (const SavedTensor* saved : tensors) {
    pickle.text(saved->tensor.name);
    add_tensor(pickle, saved->tensor);
  }
  pickle.end_dict();
  // Where a tensor was in a nested dictionary: at the top.
  pickle.begin_dict();
  for (const SavedTensor* saved : tensors) {
    pickle.text(saved->tensor.name);
    pickle.begin_tuple();
    pickle.text(saved->tensor.name);
    pickle.end_tuple();
  }
  pickle.end_dict();
  pickle.begin_dict();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    add_place(pickle, tensors[i]->tensor, extents[i]);
  }
  pickle.end_dict();
  pickle.end_call();
  return pickle.finish();
}

}  // namespace

void write_dcp(const std::string& folder,
               const Reader& reader,
               const std::vector<const SavedTensor*>& tensors,
               Disk& disk) {
  const std::filesystem::path path = folder;
  const std::string metadata =
      metadata_of(tensors, write_data(path / kDataName, reader, tensors, disk));
  const File file = disk.create(path / ".metadata", metadata.size());
  disk.write(file, 0, std::as_bytes(std::span(metadata)));
  disk.sync(file);
  disk.sync_folder(folder);
}

}  // namespace sheaf::checkpoint
