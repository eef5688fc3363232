#include "sheaf/checkpoint/export.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/durable.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/torch_file.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/agree.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/safetensors_writer.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using Tensors = std::vector<const SavedTensor*>;

Tensors chosen(const Reader& reader, ExportPart part) {
  Tensors tensors;
  for (const SavedTensor& saved : reader.manifest().tensors) {
    if (part == ExportPart::all || saved.file.starts_with("model")) tensors.push_back(&saved);
  }
  return tensors;
}

void write_safetensors(const std::string& path, const Reader& reader, const Tensors& tensors) {
  std::vector<TensorSpec> specs;
  for (const SavedTensor* saved : tensors) specs.push_back(saved->tensor);
  SafetensorsWriter writer(path, SafetensorsPlan(specs, {{"format", "pt"}}));
  for (const TensorSpec& tensor : specs) {
    const at::Tensor values = at::empty({tensor.numel()}, tensor.dtype);
    reader.read(tensor.name, 0, values);
    writer.write(tensor.name, 0, values);
  }
  writer.finish();
}

/// A dictionary of names and tensors.
void write_state_dict(const std::string& path,
                      const Reader& reader,
                      const Tensors& tensors,
                      Disk& disk) {
  Pickle object;
  object.begin_dict();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    object.text(tensors[i]->tensor.name);
    object.tensor(tensors[i]->tensor, std::to_string(i));
  }
  object.end_dict();
  const File file = disk.create(path, 0);
  Appending data(file, disk);
  write_torch(data, object.finish(), reader, tensors);
  disk.sync(file);
}

void write(const std::string& path,
           const Reader& reader,
           const Tensors& tensors,
           ExportFormat format,
           Disk& disk) {
  switch (format) {
    case ExportFormat::safetensors:
      return write_safetensors(path, reader, tensors);
    case ExportFormat::torch:
      return write_state_dict(path, reader, tensors, disk);
    case ExportFormat::dcp:
      disk.make_folder(path);
      return write_dcp(path, reader, tensors, disk);
  }
}

/// Returns a path that something can be put behind: "out" for "out/".
std::string plain_path(const std::string& to) {
  const fs::path path(to);
  const std::string plain = path.has_filename() ? path : path.parent_path();
  if (!fs::path(plain).has_filename()) throw UsageError("an export needs a name, got " + to);
  return plain;
}

/// Writes to a name beside `to`, which is gone when anything failed.
void write_whole(const std::string& to,
                 const Reader& reader,
                 const Tensors& tensors,
                 ExportFormat format,
                 Disk& disk) {
  const std::string unfinished = to + std::string(kUnfinished);
  disk.remove(unfinished);
  const auto failure = attempt([&] {
    write(unfinished, reader, tensors, format, disk);
    disk.rename(unfinished, to);
  });
  if (!failure) return keep_folder_of(to);
  static_cast<void>(attempt([&] { disk.remove(unfinished); }));
  std::rethrow_exception(failure);
}

}  // namespace

Exported export_checkpoint(const Reader& reader, const ExportOptions& options) {
  const std::string to = plain_path(options.to);
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error))) {
    throw UsageError("something is there already: take another name than " + to);
  }
  const Tensors tensors = chosen(reader, options.part);
  if (tensors.empty()) throw UsageError(reader.path() + " has no such tensors");
  Exported exported{.tensors = tensors.size(), .bytes = {}};
  for (const SavedTensor* saved : tensors) {
    exported.bytes.count += saved->tensor.numel() * dtype_size(saved->tensor.dtype);
  }
  const auto disk = options.disk ? options.disk : std::make_shared<Disk>();
  write_whole(to, reader, tensors, options.format, *disk);
  return exported;
}

}  // namespace sheaf::checkpoint
