#include "cli/plan/model_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"
#include "sheaf/hub/config.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;

// As for shapes that options describe: sums of products of three sizes fit into 64 bits.
constexpr std::int64_t kLargest = std::int64_t{1} << 22;

std::optional<std::int64_t> size_in(const json& config, const char* field) {
  if (!config.contains(field) || !config[field].is_number_integer()) return std::nullopt;
  const auto size = config[field].get<std::int64_t>();
  return size >= 1 && size <= kLargest ? std::optional(size) : std::nullopt;
}

std::int64_t required(const json& config, const char* field) {
  if (const auto size = size_in(config, field)) return *size;
  throw UsageError(fmt::format(
      "{} must be a whole number between 1 and {} to plan for such a model", field, kLargest));
}

/// Sizes are called the same in most decoders.
models::Shape decoder_shape(const json& config) {
  models::Shape shape{.family = models::Family::llama,
                      .layers = required(config, "num_hidden_layers"),
                      .width = required(config, "hidden_size"),
                      .heads = required(config, "num_attention_heads"),
                      .hidden = required(config, "intermediate_size"),
                      .vocabulary = required(config, "vocab_size"),
                      .context = required(config, "max_position_embeddings"),
                      .tied_embeddings = config.value("tie_word_embeddings", false)};
  shape.kv_heads = size_in(config, "num_key_value_heads").value_or(shape.heads);
  shape.head_size =
      size_in(config, "head_dim").value_or(std::max<std::int64_t>(1, shape.width / shape.heads));
  return shape;
}

PlannedModel from_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError("cannot read " + in_quotes(path));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    return {.name = path, .shape = hub::parse_config(text).shape, .note = {}};
  } catch (const UsageError& refusal) {
    const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!config.is_object()) throw;
    return {.name = path,
            .shape = decoder_shape(config),
            .note = fmt::format("sheaf cannot train it ({}); planned as a Llama of the same sizes",
                                refusal.what())};
  }
}

PlannedModel from_preset(const std::string& name) {
  const models::Shape shape = models::resolve({.preset = name});
  if (shape.is_language_model()) return {.name = name, .shape = shape, .note = {}};
  throw UsageError(fmt::format("only language models are planned, not {}", name));
}

}  // namespace

PlannedModel read_model(const std::string& argument) {
  namespace fs = std::filesystem;
  const auto& presets = models::preset_names();
  if (std::ranges::find(presets, argument) != presets.end()) return from_preset(argument);
  const fs::path path(argument);
  std::error_code error;
  if (fs::is_directory(path, error)) return from_config((path / "config.json").string());
  if (fs::exists(path, error)) return from_config(argument);
  const auto meant = nearest(argument, presets);
  throw UsageError(
      fmt::format("--model must be a preset ({}), a config.json or a folder with one, "
                  "got {}{}",
                  join_or(presets),
                  in_quotes(argument),
                  meant ? "; did you mean " + *meant + "?" : ""));
}

}  // namespace sheaf::cli
