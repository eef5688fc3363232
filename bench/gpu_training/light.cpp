#include "light.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

using nlohmann::json;

/// What answers call the figures of one way to measure.
struct Keys {
  const char* ms = nullptr;
  const char* copy_rate = nullptr;
};

constexpr Keys kLong{.ms = "ms", .copy_rate = "copy_bytes_per_second"};
constexpr Keys kBurst{.ms = "burst_ms", .copy_rate = "burst_copy_bytes_per_second"};

double product_ms(const Linear& linear, const json& measured, const Keys& keys) {
  for (const json& answer : measured.at("linears")) {
    if (answer.at("name") != linear.name) continue;
    double sum = 0;
    for (const json& pass : answer.at("passes")) sum += pass.at(keys.ms).get<double>();
    return sum * static_cast<double>(linear.calls);
  }
  throw Error(fmt::format("light.py has not measured the products of {}", linear.name));
}

std::map<KernelClass, double> classes_of(const StepWork& work,
                                         const json& measured,
                                         const Keys& keys) {
  std::map<KernelClass, double> classes;
  for (const Linear& linear : work.linears) {
    classes[KernelClass::gemm] += product_ms(linear, measured, keys);
  }
  classes[KernelClass::attention] = measured.at("attention").at(keys.ms).get<double>() *
                                    static_cast<double>(work.attention.calls);
  const double bytes_per_ms = measured.at(keys.copy_rate).get<double>() / 1e3;
  for (const auto& [kind, bytes] : work.bytes) classes[kind] = bytes / bytes_per_ms;
  return classes;
}

double sum_of(const std::map<KernelClass, double>& classes) {
  double sum = 0;
  for (const auto& [kind, ms] : classes) sum += ms;
  return sum;
}

std::optional<double> replayed_ms(const json& measured) {
  const json::json_pointer place("/sustained/products_and_attention_ms");
  return measured.contains(place) ? std::optional(measured.at(place).get<double>()) : std::nullopt;
}

}  // namespace

double Light::step_ms() const { return sum_of(milliseconds); }

double Light::burst_step_ms() const { return sum_of(burst_milliseconds); }

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
  return {.milliseconds = classes_of(work, measured, kLong),
          .burst_milliseconds = classes_of(work, measured, kBurst),
          .replayed_ms = replayed_ms(measured),
          .measured = measured};
}

}  // namespace sheaf::bench
