#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/checkpoint/safetensors.h"
#include "sheaf/comm/group.h"

namespace sheaf::hub {

/// As transformers has it.
inline constexpr Bytes kShardSize{5'000'000'000};

/// What a model's folder is to hold.
struct FolderContents {
  /// Text of config.json.
  std::string config;
  std::vector<checkpoint::TensorSpec> parameters;
  /// Folder whose tokenizer and generation config go along, as they are; empty: none.
  std::string companions_from;
  /// Texts of further files by name, such as tokenizer.json.
  std::map<std::string, std::string> files = {};
};

struct FolderOptions {
  /// Most bytes of values in one file.
  Bytes shard_size = kShardSize;
  /// Whether a model that is there already is replaced.
  bool overwrite = false;
  /// Ranks that write together; unset: one process alone.
  std::optional<comm::Group> group = std::nullopt;
};

/// Returns the paths of the tokenizer's files and the generation config that a folder has.
[[nodiscard]] std::vector<std::string> companions_in(const std::string& folder);

/// Throws UsageError unless a model can be written to this folder: one that is not there, is empty,
/// or, with `overwrite`, holds a model.
void check_target(const std::string& path, bool overwrite);

/// Writes a model's folder that transformers loads. It has another name until finish(), so that it
/// is there whole or not at all. With a group, every rank makes one, writes the parts that it has,
/// and finishes, together with all others; nobody needs a whole parameter.
class FolderWriter {
 public:
  /// Throws UsageError, IoError.
  FolderWriter(const std::string& path,
               const FolderContents& contents,
               const FolderOptions& options = {});
  /// Removes what there is, unless finish() came before.
  ~FolderWriter();
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  /// Writes elements of a flattened parameter, from `begin` on.
  void write(const std::string& parameter, std::int64_t begin, const at::Tensor& values);
  /// Throws Error if values are missing, IoError; then the folder is not there.
  void finish();

  /// Returns the number of files with weights, and the bytes of values in all of them.
  [[nodiscard]] std::size_t num_files() const;
  [[nodiscard]] Bytes total() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::hub
