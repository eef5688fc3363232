#include "cli/plan/model_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "cli/plan/decoder_config.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"
#include "sheaf/hub/config.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;

/// Takes the sizes of a model that sheaf cannot train, for the reason `refusal`.
PlannedModel as_decoder(const std::string& path,
                        const std::string& text,
                        const std::string& refusal) {
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw UsageError(fmt::format("{}: {}", path, refusal));
  try {
    return {.name = path,
            .shape = decoder_shape(config),
            .note = fmt::format("sheaf cannot train it ({}); planned as a Llama of the same sizes",
                                refusal)};
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}: {} (nor can sheaf train it: {})", path, error.what(), refusal));
  }
}

PlannedModel from_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError("cannot read " + in_quotes(path));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    return {.name = path, .shape = hub::parse_config(text).shape, .note = {}};
  } catch (const UsageError& refusal) {
    return as_decoder(path, text, refusal.what());
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
