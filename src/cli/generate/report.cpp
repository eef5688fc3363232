#include "cli/generate/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sheaf/base/table.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;

double per_second(std::int64_t tokens, Seconds time) {
  return time.count() > 0 ? static_cast<double>(tokens) / time.count() : 0;
}

std::string line_of(std::int64_t tokens, Seconds time, double speed) {
  return fmt::format(
      "{} token{} in {}, {:.1f} tokens/s", tokens, tokens == 1 ? "" : "s", to_string(time), speed);
}

}  // namespace

std::string speed_page(const Generator& generator, const GenerateSpeed& speed) {
  Table table;
  table.add({"  model",
             fmt::format("{}, {} parameters, {} on {}, loaded in {}",
                         generator.folder,
                         generator.parameters,
                         generator.dtype,
                         generator.device,
                         to_string(generator.load_time))});
  table.add({"  prompt",
             line_of(speed.prompt_tokens,
                     speed.prompt_time,
                     per_second(speed.prompt_tokens, speed.prompt_time))});
  table.add(
      {"  generation",
       line_of(
           speed.new_tokens, speed.later_time, per_second(speed.later_tokens, speed.later_time))});
  return table.str();
}

std::string json_page(const Generator& generator,
                      const GenerateSpeed& speed,
                      const std::vector<GeneratedText>& texts) {
  json list = json::array();
  for (const GeneratedText& each : texts) {
    list.push_back({{"prompt", each.prompt.text},
                    {"text", each.text},
                    {"prompt_tokens", each.prompt.tokens.size()},
                    {"tokens", each.num_tokens},
                    {"ending", each.ending}});
  }
  const json page = {
      {"model", generator.folder},
      {"parameters", generator.parameters},
      {"dtype", generator.dtype},
      {"device", generator.device},
      {"texts", list},
      {"load_seconds", generator.load_time.count()},
      {"prompt_tokens", speed.prompt_tokens},
      {"prompt_seconds", speed.prompt_time.count()},
      {"prompt_tokens_per_second", per_second(speed.prompt_tokens, speed.prompt_time)},
      {"tokens", speed.new_tokens},
      {"seconds", speed.later_time.count()},
      {"tokens_per_second", per_second(speed.later_tokens, speed.later_time)}};
  return page.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::cli
