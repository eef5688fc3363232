#include "sheaf/hub/folder_writer.h"

#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <map>

#include "base/durable.h"
#include "base/place_of.h"
#include "hub/unfinished_folder.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/safetensors_writer.h"
#include "sheaf/checkpoint/weights.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;
using checkpoint::SafetensorsPlan;
using checkpoint::SafetensorsWriter;
using checkpoint::WeightFile;
using checkpoint::WriterRole;

// What transformers may look for beside config.json and the weights.
constexpr std::array kCompanions{"generation_config.json",
                                 "tokenizer.json",
                                 "tokenizer_config.json",
                                 "special_tokens_map.json",
                                 "added_tokens.json",
                                 "vocab.json",
                                 "merges.txt",
                                 "tokenizer.model",
                                 "chat_template.jinja",
                                 "chat_template.json"};

void copy_companions(const std::string& from, const UnfinishedFolder& to) {
  if (from.empty()) return;
  for (const std::string& source : companions_in(from)) {
    std::error_code error;
    fs::copy_file(source, to.path_of(fs::path(source).filename()), error);
    if (error) throw IoError(fmt::format("cannot copy a file ({}): {}", error.message(), source));
  }
}

/// Returns the sum over all ranks.
std::int64_t summed(std::int64_t value, const std::optional<comm::Group>& group) {
  if (!group) return value;
  const at::Device device = group->backend() == "nccl" ? at::kCUDA : at::kCPU;
  const at::Tensor sum = at::full({1}, value, at::TensorOptions(device).dtype(at::kLong));
  group->all_reduce(sum, {.purpose = comm::Purpose::control}).wait();
  return sum.item<std::int64_t>();
}

}  // namespace

namespace {

/// Tells whether a file is one that this writer makes, or a companion of a model.
bool is_part_of_model(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return entry.is_regular_file() &&
         (name == "config.json" || name == "model.safetensors.index.json" ||
          name.ends_with(".safetensors") ||
          std::find(kCompanions.begin(), kCompanions.end(), name) != kCompanions.end());
}

}  // namespace

std::vector<std::string> companions_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const char* name : kCompanions) {
    const fs::path path = fs::path(folder) / name;
    std::error_code ignored;
    if (fs::exists(path, ignored)) paths.push_back(path);
  }
  return paths;
}

void check_target(const std::string& path, bool overwrite) {
  const fs::path place = place_of(path);
  std::error_code error;
  if (!fs::exists(place, error)) return;
  if (!fs::is_directory(place, error)) {
    throw UsageError("a model is written to a folder, but this is a file: " + path);
  }
  const bool is_empty = fs::is_empty(place, error);
  if (error) {
    throw IoError(fmt::format("cannot read a folder ({}): {}", error.message(), path));
  }
  if (is_empty) return;
  if (!overwrite) {
    throw UsageError(
        "the folder is not empty: take another (convert --overwrite replaces a model): " + path);
  }
  if (!fs::exists(place / "config.json", error)) {
    throw UsageError("only a model is overwritten, and this folder has no config.json: " + path);
  }
  for (const auto& entry : fs::directory_iterator(place, error)) {
    if (is_part_of_model(entry)) continue;
    throw UsageError(
        fmt::format("only a model is overwritten, and this folder has something else, {}: {}",
                    entry.path().filename().string(),
                    path));
  }
}

struct FolderWriter::Impl {
  Impl(const std::string& path, const FolderContents& contents, const FolderOptions& options)
      : group(options.group),
        folder(path, options.overwrite),
        files(split_weights(contents.parameters, options.shard_size)) {
    if (is_first()) {
      check_target(path, options.overwrite);
      folder.begin();
      write_text(folder.path_of("config.json"), contents.config);
      copy_companions(contents.companions_from, folder);
      for (const auto& [name, text] : contents.files) write_text(folder.path_of(name), text);
      open(WriterRole::first);
      write_index();
    }
    meet();
    if (!is_first()) open(WriterRole::other);
  }

  [[nodiscard]] bool is_first() const { return !group || group->rank() == 0; }
  void meet() const {
    if (group) group->barrier().wait();
  }

  void open(WriterRole role) {
    for (const WeightFile& file : files) {
      // transformers does not read a file that has no format.
      writers.emplace_back(
          folder.path_of(file.name), SafetensorsPlan(file.tensors, {{"format", "pt"}}), role);
      for (const checkpoint::TensorEntry& entry : writers.back().plan().tensors()) {
        by_name[entry.tensor.name] = &writers.back();
        total += entry.size;
      }
    }
  }

  void write_index() const {
    if (files.size() == 1) return;
    checkpoint::WeightMap map;
    for (const WeightFile& file : files) {
      for (const checkpoint::TensorSpec& tensor : file.tensors) map[tensor.name] = file.name;
    }
    write_text(folder.path_of(std::string(checkpoint::kIndexName)),
               checkpoint::format_index(map, {static_cast<std::int64_t>(total)}));
  }

  void check_whole() const {
    std::uint64_t own = 0;
    for (const SafetensorsWriter& writer : writers) own += writer.written();
    const std::int64_t written = summed(static_cast<std::int64_t>(own), group);
    if (written == static_cast<std::int64_t>(total)) return;
    throw Error(
        fmt::format("a model's weights have {} bytes, but {} were written", total, written));
  }

  std::optional<comm::Group> group;
  UnfinishedFolder folder;
  std::vector<WeightFile> files;
  std::deque<SafetensorsWriter> writers;
  std::map<std::string, SafetensorsWriter*> by_name;
  std::uint64_t total = 0;
};

FolderWriter::FolderWriter(const std::string& path,
                           const FolderContents& contents,
                           const FolderOptions& options)
    : impl_(std::make_unique<Impl>(path, contents, options)) {}

FolderWriter::~FolderWriter() = default;

void FolderWriter::write(const std::string& parameter,
                         std::int64_t begin,
                         const at::Tensor& values) {
  const auto found = impl_->by_name.find(parameter);
  if (found == impl_->by_name.end()) {
    throw UsageError("the folder is to hold no parameter " + parameter);
  }
  found->second->write(parameter, begin, values);
}

void FolderWriter::finish() {
  impl_->check_whole();
  const auto finish_files = [&] {
    for (SafetensorsWriter& writer : impl_->writers) writer.finish();
  };
  if (!impl_->is_first()) finish_files();
  impl_->meet();
  if (impl_->is_first()) {
    finish_files();
    impl_->folder.finish();
  }
  impl_->meet();
}

std::size_t FolderWriter::num_files() const { return impl_->files.size(); }

Bytes FolderWriter::total() const { return {static_cast<std::int64_t>(impl_->total)}; }

}  // namespace sheaf::hub
