#include "cli/generate/sampling_arguments.h"

#include <fmt/format.h>

#include <string_view>

#include "sheaf/base/error.h"

namespace sheaf::cli {
namespace {

constexpr int kAsTheFilesSay = -1;

template <class Number>
Number or_else(Number given, Number otherwise) {
  return given == kAsTheFilesSay ? otherwise : given;
}

void check(std::string_view option, bool is_possible, std::string_view possible, double given) {
  if (is_possible || given == kAsTheFilesSay) return;
  throw UsageError(fmt::format(
      "--{}: must be {}, or -1 for what the model's files say, got {}", option, possible, given));
}

}  // namespace

void SamplingArguments::declare(OptionSet& options) {
  options.flag("greedy", greedy, "always take the likeliest token");
  options.value("temperature",
                temperature,
                "below 1 likely tokens are likelier; 0: greedy; -1: as the model's files say",
                at_least(-1.0));
  options.value("top-k",
                top_k,
                "draw from so many of the likeliest tokens; 0: all; -1: as the files say",
                at_least(-1));
  options.value("top-p",
                top_p,
                "draw from the likeliest that have this probability; -1: as the files say",
                between(-1.0, 1.0));
  options.value("repetition-penalty",
                repetition_penalty,
                "above 1 tokens that came before are less likely; -1: as the files say",
                at_least(-1.0));
  options.value("seed", seed, "what is drawn; text n takes seed + n - 1", at_least(0));
}

models::GenerateOptions SamplingArguments::resolve(const hub::GenerationConfig& config) const {
  check("temperature", temperature >= 0, "at least 0", temperature);
  check("top-p", top_p >= 0, "between 0 and 1", top_p);
  check("repetition-penalty", repetition_penalty > 0, "above 0", repetition_penalty);
  const bool asks_to_draw = temperature > 0 || top_k >= 0 || top_p >= 0;
  if (greedy && asks_to_draw) {
    throw UsageError(
        "--greedy always takes the likeliest token: leave out --temperature, --top-k and --top-p, "
        "or --greedy");
  }
  const bool draws = !greedy && temperature != 0 && (asks_to_draw || config.do_sample);
  return {.temperature = draws ? or_else(temperature, config.temperature) : 0,
          .top_k = or_else(top_k, config.top_k),
          .top_p = or_else(top_p, config.top_p),
          .repetition_penalty = or_else(repetition_penalty, config.repetition_penalty),
          .seed = static_cast<std::uint64_t>(seed)};
}

}  // namespace sheaf::cli
