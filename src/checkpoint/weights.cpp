#include "sheaf/checkpoint/weights.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/json_object.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A name in an index must not lead out of the folder.
void check_file_name(const std::string& tensor, const json& file) {
  const bool is_text = file.is_string();
  const std::string name = is_text ? file.get<std::string>() : "";
  const bool plain = name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (is_text && plain && name.ends_with(".safetensors")) return;
  throw UsageError(
      fmt::format("the file of {} must be the name of a .safetensors file in the same folder, "
                  "got {}",
                  in_quotes(tensor),
                  in_words(file)));
}

std::string missing_weights(const std::string& folder) {
  std::string text = fmt::format(
      "{} has no weights: there is neither {} nor {}", folder, kWeightsName, kIndexName);
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / "pytorch_model.bin", ignored)) {
    text += "; pytorch_model.bin must be saved anew by save_pretrained, which writes safetensors";
  }
  return text;
}

}  // namespace

WeightMap parse_index(std::string_view text) {
  const json index = parse_object(text);
  const auto weights = index.find("weight_map");
  if (weights == index.end() || !weights->is_object() || weights->empty()) {
    throw UsageError(fmt::format("weight_map must be an object of tensors and their files, got {}",
                                 weights == index.end() ? "none" : in_words(*weights)));
  }
  const auto metadata = index.find("metadata");
  if (metadata != index.end() && !metadata->is_object()) {
    throw UsageError(fmt::format("metadata must be an object, got {}", in_words(*metadata)));
  }
  WeightMap map;
  for (const auto& [tensor, file] : weights->items()) {
    check_file_name(tensor, file);
    map.emplace(tensor, file.get<std::string>());
  }
  return map;
}

std::string format_index(const WeightMap& weights, Bytes total) {
  const json index = {{"metadata", {{"total_size", total.count}}}, {"weight_map", weights}};
  return index.dump(/*indent=*/2) + "\n";
}

std::vector<WeightFile> split_weights(const std::vector<TensorSpec>& tensors,
                                      Bytes limit,
                                      std::string_view stem) {
  std::vector<WeightFile> files(1);
  std::int64_t size = 0;
  for (const TensorSpec& tensor : tensors) {
    const std::int64_t more = tensor.numel() * dtype_size(tensor.dtype);
    if (size > 0 && size + more > limit.count) {
      files.emplace_back();
      size = 0;
    }
    files.back().tensors.push_back(tensor);
    size += more;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].name = files.size() == 1
                        ? fmt::format("{}.safetensors", stem)
                        : fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1, files.size());
  }
  return files;
}

Weights::Weights(const std::string& folder) {
  const std::string single = fs::path(folder) / kWeightsName;
  std::error_code ignored;
  if (!fs::exists(single, ignored)) {
    open_indexed(folder);
    return;
  }
  files_.emplace_back(single);
  for (const TensorEntry& entry : files_.front().tensors()) {
    places_.emplace(entry.tensor.name, Place{0, &entry});
  }
}

void Weights::open_indexed(const std::string& folder) {
  const std::string path = fs::path(folder) / kIndexName;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw UsageError(missing_weights(folder));
  WeightMap map;
  try {
    map = parse_index(read_text(path));
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix(path + ": "));
  }
  std::map<std::string, std::size_t> numbers;
  for (const auto& [tensor, file] : map) {
    const auto [number, is_new] = numbers.emplace(file, files_.size());
    if (is_new) files_.emplace_back((fs::path(folder) / file).string());
    const TensorEntry* entry = files_[number->second].find(tensor);
    if (entry == nullptr) {
      throw UsageError(
          fmt::format("{}: {} does not hold {}, as this says", path, file, in_quotes(tensor)));
    }
    places_.emplace(tensor, Place{number->second, entry});
  }
}

std::vector<std::string> Weights::names() const {
  std::vector<std::string> names;
  names.reserve(places_.size());
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const TensorSpec* Weights::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second.entry->tensor;
}

void Weights::read(const std::string& name, std::int64_t begin, const at::Tensor& target) const {
  const auto found = places_.find(name);
  if (found == places_.end()) throw UsageError("there is no tensor " + in_quotes(name));
  files_[found->second.file].read(*found->second.entry, begin, target);
}

}  // namespace sheaf::checkpoint
