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
void write_state_dict(const std::string& path, const Reader& reader, const Tensors& tensors) {
  Pickle object;
  object.begin_dict();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    object.text(tensors[i]->tensor.name);
    object.tensor(tensors[i]->tensor, std::to_string(i));
  }
  object.end_dict();
  Disk disk;
  const File file = disk.create(path, 0);
  std::uint64_t end = 0;
  write_torch(append_to(file, end, disk), object.finish(), reader, tensors);
  disk.sync(file);
}

void write(const std::string& path,
           const Reader& reader,
           const Tensors& tensors,
           ExportFormat format) {
  switch (format) {
    case ExportFormat::safetensors:
      return write_safetensors(path, reader, tensors);
    case ExportFormat::torch:
      return write_state_dict(path, reader, tensors);
    case ExportFormat::dcp:
      Disk().make_folder(path);
      return write_dcp(path, reader, tensors);
  }
}

}  // namespace

Exported export_checkpoint(const Reader& reader, const ExportOptions& options) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(options.to, error))) {
    throw UsageError("something is there already: take another name than " + options.to);
  }
  const Tensors tensors = chosen(reader, options.part);
  if (tensors.empty()) throw UsageError(reader.path() + " has no such tensors");
  Exported exported{.tensors = tensors.size(), .bytes = {}};
  for (const SavedTensor* saved : tensors) {
    exported.bytes.count += saved->tensor.numel() * dtype_size(saved->tensor.dtype);
  }
  Disk disk;
  const std::string unfinished = options.to + std::string(kUnfinished);
  disk.remove(unfinished);
  const auto failure = attempt([&] { write(unfinished, reader, tensors, options.format); });
  if (failure) {
    static_cast<void>(attempt([&] { disk.remove(unfinished); }));
    std::rethrow_exception(failure);
  }
  disk.rename(unfinished, options.to);
  keep_folder_of(options.to);
  return exported;
}

}  // namespace sheaf::checkpoint
