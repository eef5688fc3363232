#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/checkpoint/safetensors_writer.h"
#include "sheaf/checkpoint/saver.h"

namespace sheaf::checkpoint {

struct PlannedFile {
  std::string name;
  SafetensorsPlan plan;
  /// The rank that makes it.
  int owner = 0;
};

/// Where a tensor will lie.
struct PlannedTensor {
  std::size_t file = 0;
  TensorEntry entry;
};

/// Which files a checkpoint will have, and where everything will lie in them. Pure arithmetic: the
/// same contents give the same plan on every rank, so nobody has to be asked.
class FolderPlan {
 public:
  FolderPlan(const Contents& contents, int ranks, Bytes smallest_file);

  [[nodiscard]] const std::vector<PlannedFile>& files() const { return files_; }
  /// Returns all tensors, in the order of the files and of their bytes.
  [[nodiscard]] const std::vector<PlannedTensor>& tensors() const { return tensors_; }
  /// Returns the number of a tensor. Throws UsageError if there is none of this name.
  [[nodiscard]] std::size_t find(std::string_view name) const;
  /// Returns the index of the weights that Hugging Face needs; empty where they are in one file.
  [[nodiscard]] std::string index() const;
  /// Returns the bytes of all files.
  [[nodiscard]] Bytes bytes() const;

 private:
  void add(const std::vector<TensorSpec>& tensors,
           std::string_view stem,
           int ranks,
           Bytes smallest_file);
  /// Adds a tensor of the file that comes next.
  void add(const TensorEntry& entry);

  std::vector<PlannedFile> files_;
  std::vector<PlannedTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  /// Files with weights; those with other state come after them.
  std::size_t num_weight_files_ = 0;
};

}  // namespace sheaf::checkpoint
