#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/base/units.h"
#include "sheaf/checkpoint/reader.h"

namespace sheaf::checkpoint {

/// `safetensors`: one file. `torch`: one file that torch.load() reads, also with weights_only.
/// `dcp`: a folder that torch.distributed.checkpoint's FileSystemReader reads.
enum class ExportFormat { safetensors, torch, dcp };

/// Weights alone, or the optimizer's state and buffers as well.
enum class ExportPart { model, all };

constexpr auto enum_names(ExportFormat) {
  return std::array{EnumName{"safetensors", ExportFormat::safetensors},
                    EnumName{"torch", ExportFormat::torch},
                    EnumName{"dcp", ExportFormat::dcp}};
}

constexpr auto enum_names(ExportPart) {
  return std::array{EnumName{"model", ExportPart::model}, EnumName{"all", ExportPart::all}};
}

class Disk;

struct ExportOptions {
  /// File or folder to write; must not be there.
  std::string to;
  ExportFormat format = ExportFormat::safetensors;
  ExportPart part = ExportPart::model;
  /// Null: the real one. Files of safetensors always go to that.
  std::shared_ptr<Disk> disk = nullptr;
};

struct Exported {
  std::size_t tensors = 0;
  /// Of values.
  Bytes bytes;
};

/// Writes a checkpoint's tensors for other programs, under the names they have. It is there whole
/// or not at all. Takes the memory of the largest tensor. Throws UsageError, IoError, Damaged.
Exported export_checkpoint(const Reader& reader, const ExportOptions& options);

}  // namespace sheaf::checkpoint
