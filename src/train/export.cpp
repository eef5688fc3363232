#include "export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "sheaf/base/error.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/hub/folder_writer.h"
#include "sheaf/hub/generation_config.h"
#include "sheaf/hub/model_folder.h"

namespace sheaf::train {
namespace {

// Masters are fp32, and nothing of them is thrown away.
constexpr at::ScalarType kType = at::kFloat;
// What `sheaf data` puts between documents unless it is told otherwise.
constexpr const char* kEndOfText = "<|endoftext|>";

}  // namespace

std::string config_of(const RunOptions& options, const models::Shape& shape) {
  if (options.model.from.empty()) return hub::format_config(shape, kType);
  return hub::with_dtype(hub::ModelFolder(options.model.from).config_text(), kType);
}

namespace {

/// transformers would take another class, whose own special tokens the model may not have.
std::string tokenizer_config(bool has_end) {
  nlohmann::json config{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (has_end) config["eos_token"] = kEndOfText;
  return config.dump(/*indent=*/2) + "\n";
}

}  // namespace

std::map<std::string, std::string> tokenizer_files_of(const RunOptions& options,
                                                      const data::Data& data) {
  if (!options.model.from.empty() || data.tokenizer == nullptr) return {};
  const std::string& named = options.data.tokenizer;
  auto files = data::tokenizer_files(named.empty() ? "bytes" : named);
  const auto end = data.tokenizer->find(kEndOfText);
  if (files.contains("tokenizer.json")) {
    files["tokenizer_config.json"] = tokenizer_config(end.has_value());
  }
  if (end) files["generation_config.json"] = hub::format_generation_config({*end});
  return files;
}

void check_export(const RunOptions& options, const models::Shape& shape) {
  if (options.train.export_to.empty()) return;
  try {
    static_cast<void>(hub::format_config(shape, kType));
    hub::check_target(options.train.export_to, /*overwrite=*/false);
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("train.export: "));
  }
}

void export_model(const RunOptions& options, const Assembly& parts) {
  if (options.train.export_to.empty()) return;
  hub::FolderWriter writer(options.train.export_to,
                           {.config = config_of(options, parts.shape),
                            .parameters = hub::parameters_of(parts.shape),
                            .companions_from = options.model.from,
                            .files = tokenizer_files_of(options, parts.data)},
                           {.group = parts.mesh.world()});
  for (const sharding::Slice& slice : parts.state.owned_slices()) {
    writer.write(slice.name, slice.begin, slice.values);
  }
  writer.finish();
}

}  // namespace sheaf::train
