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

}  // namespace

double Light::step_ms() const {
  double sum = 0;
  for (const auto& [kind, ms] : milliseconds) sum += ms;
  return sum;
}

json questions_of(const StepWork& work, const Row& row) {
  json linears = json::array();
  for (const Linear& linear : work.linears) {
    linears.push_back(
        {{"name", linear.name}, {"inputs", linear.inputs}, {"outputs", linear.outputs}});
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
            {"head_size", attention.head_size}}}};
}

Light light_of(const StepWork& work, const json& measured) {
  Light light{.milliseconds = {}, .measured = measured};
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
