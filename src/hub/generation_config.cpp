#include "sheaf/hub/generation_config.h"

#include <fmt/format.h>

#include <filesystem>

#include "checkpoint/json_object.h"
#include "hub/config_fields.h"
#include "sheaf/base/error.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToken = "a token's number, a list of them, or null";
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

std::int64_t token_of(const nlohmann::json& value,
                      const ConfigFields& fields,
                      const std::string& name) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMostTokens)) {
    fields.refuse(name, kToken);
  }
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> tokens_of(const ConfigFields& fields, const std::string& name) {
  if (!fields.has(name)) return {};
  const auto& value = fields.json().at(name);
  if (!value.is_array()) return {token_of(value, fields, name)};
  std::vector<std::int64_t> tokens;
  for (const auto& each : value) tokens.push_back(token_of(each, fields, name));
  return tokens;
}

double between(const ConfigFields& fields, const std::string& name, double low, double high) {
  if (!fields.has(name)) return high;
  const auto& value = fields.json().at(name);
  const bool fits = value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
  if (!fits) fields.refuse(name, fmt::format("a number from {} to {}", low, high));
  return value.get<double>();
}

/// The tokens, which config.json may name as well.
GenerationConfig tokens_only(const ConfigFields& fields) {
  GenerationConfig config;
  config.eos_token_ids = tokens_of(fields, "eos_token_id");
  const auto first = tokens_of(fields, "bos_token_id");
  if (!first.empty()) config.bos_token_id = first.front();
  return config;
}

}  // namespace

GenerationConfig parse_generation_config(std::string_view text) {
  const ConfigFields fields(checkpoint::parse_object(text));
  GenerationConfig config = tokens_only(fields);
  config.do_sample = fields.flag_or("do_sample", config.do_sample);
  // Some files say 0 where they mean that the likeliest token is taken.
  const bool has_zero = fields.has("temperature") && fields.json().at("temperature") == 0;
  if (has_zero) config.do_sample = false;
  if (!has_zero) config.temperature = fields.positive_or("temperature", config.temperature);
  // 0 means all.
  const bool has_all = fields.has("top_k") && fields.json().at("top_k") == 0;
  config.top_k = has_all ? 0 : fields.size_or("top_k", kMostTokens, config.top_k);
  config.top_p = between(fields, "top_p", 0, 1);
  config.repetition_penalty = fields.positive_or("repetition_penalty", config.repetition_penalty);
  return config;
}

GenerationConfig read_generation_config(const std::string& folder) {
  const fs::path path = fs::path(folder) / "generation_config.json";
  std::error_code ignored;
  const bool has_own = fs::exists(path, ignored);
  const fs::path read = has_own ? path : fs::path(folder) / "config.json";
  try {
    const std::string text = checkpoint::read_text(read);
    if (has_own) return parse_generation_config(text);
    return tokens_only(ConfigFields(checkpoint::parse_object(text)));
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix(read.string() + ": "));
  }
}

std::string format_generation_config(const std::vector<std::int64_t>& eos_token_ids) {
  nlohmann::json config = nlohmann::json::object();
  if (eos_token_ids.size() == 1) config["eos_token_id"] = eos_token_ids.front();
  if (eos_token_ids.size() > 1) config["eos_token_id"] = eos_token_ids;
  return config.dump(/*indent=*/2) + "\n";
}

}  // namespace sheaf::hub
