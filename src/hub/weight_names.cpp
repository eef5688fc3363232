#include "hub/weight_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf::hub {
namespace {

using checkpoint::TensorSpec;

constexpr std::string_view kHead = "lm_head.weight";

/// The part in front of everything but the head.
std::string_view prefix_of(const models::Shape& shape) {
  return shape.family == models::Family::gpt2 ? "transformer." : "model.";
}

bool is_embedding(const std::string& name) {
  return name == "transformer.wte.weight" || name == "model.embed_tokens.weight";
}

/// Returns the names that a parameter may have in a file, the likeliest first.
std::vector<std::string> names_in_files(const std::string& name, const models::Shape& shape) {
  std::vector<std::string> names{name};
  const std::string_view prefix = prefix_of(shape);
  if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  // Some files hold a tied weight under its other name.
  if (shape.tied_embeddings && is_embedding(name)) names.emplace_back(kHead);
  return names;
}

/// What models once saved although nobody learns it, and the other name of a tied weight.
bool may_be_ignored(const std::string& name, const models::Shape& shape) {
  if (name == kHead) return shape.tied_embeddings;
  if (shape.family == models::Family::gpt2) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  }
  return name.ends_with("rotary_emb.inv_freq");
}

void check_fits(const TensorSpec& parameter, const TensorSpec& found) {
  if (found.shape != parameter.shape) {
    throw UsageError(fmt::format("{} must have the shape [{}] by config.json, got [{}]",
                                 found.name,
                                 fmt::join(parameter.shape, ", "),
                                 fmt::join(found.shape, ", ")));
  }
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    if (found.dtype == type) return;
  }
  throw UsageError(
      fmt::format("{} must be of type F64, F32, F16 or BF16: sheaf reads no quantised models, got "
                  "{}",
                  found.name,
                  c10::toString(found.dtype)));
}

}  // namespace

std::map<std::string, std::string> match_names(const std::vector<TensorSpec>& parameters,
                                               const checkpoint::Weights& weights,
                                               const models::Shape& shape) {
  std::map<std::string, std::string> names;
  std::set<std::string> used;
  for (const TensorSpec& parameter : parameters) {
    const TensorSpec* found = nullptr;
    for (const std::string& name : names_in_files(parameter.name, shape)) {
      if (found == nullptr) found = weights.find(name);
    }
    if (found == nullptr) {
      throw UsageError(fmt::format("the weights have no {}", parameter.name));
    }
    check_fits(parameter, *found);
    names.emplace(parameter.name, found->name);
    used.insert(found->name);
  }
  for (const std::string& name : weights.names()) {
    if (used.contains(name) || may_be_ignored(name, shape)) continue;
    throw UsageError(fmt::format("the weights have {}, which the model of config.json has not",
                                 in_quotes(name)));
  }
  return names;
}

}  // namespace sheaf::hub
