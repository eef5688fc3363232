#include "light.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

using nlohmann::json;

double product_ms(const Linear& linear, const json& measured) {
  for (const json& answer : measured.at("linears")) {
    if (answer.at("name") != linear.name) continue;
    double sum = 0;
    for (const json& pass : answer.at("passes")) sum += pass.at("ms").get<double>();
    return sum * static_cast<double>(linear.calls);
  }
  throw Error(fmt::format("light.py has not measured the products of {}", linear.name));
}

std::optional<double> replayed_ms(const json& measured) {
  const json::json_pointer place("/sustained/products_and_attention_ms");
  return measured.contains(place) ? std::optional(measured.at(place).get<double>()) : std::nullopt;
}

}  // namespace

double Light::step_ms() const {
  double sum = 0;
  for (const auto& [kind, ms] : milliseconds) sum += ms;
  return sum;
}

std::optional<double> Light::sustained_ms() const {
  if (!replayed_ms) return std::nullopt;
  double sum = *replayed_ms;
  for (const auto& [kind, ms] : milliseconds) {
    const bool is_replayed = kind == KernelClass::gemm || kind == KernelClass::attention;
    if (!is_replayed) sum += ms;
  }
  return sum;
}

json questions_of(const StepWork& work, const Row& row) {
  json linears = json::array();
  for (const Linear& linear : work.linears) {
    linears.push_back({{"name", linear.name},
                       {"inputs", linear.inputs},
                       {"outputs", linear.outputs},
                       {"calls", linear.calls}});
  }
  const AttentionWork& attention = work.attention;
  return {{"device", row.device},
          {"arithmetic", name_of(row.arithmetic)},
          {"tokens", work.tokens},
          {"linears", linears},
          {"attention",
           {{"batch", attention.batch},
            {"heads", attention.heads},
            {"kv_heads", attention.kv_heads},
            {"length", attention.length},
            {"head_size", attention.head_size},
            {"calls", attention.calls}}}};
}

Light light_of(const StepWork& work, const json& measured) {
  Light light{.milliseconds = {}, .replayed_ms = replayed_ms(measured), .measured = measured};
  for (const Linear& linear : work.linears) {
    light.milliseconds[KernelClass::gemm] += product_ms(linear, measured);
  }
  light.milliseconds[KernelClass::attention] =
      measured.at("attention").at("ms").get<double>() * static_cast<double>(work.attention.calls);
  const double bytes_per_ms = measured.at("copy_bytes_per_second").get<double>() / 1e3;
  for (const auto& [kind, bytes] : work.bytes) light.milliseconds[kind] = bytes / bytes_per_ms;
  return light;
}

}  // namespace sheaf::bench
