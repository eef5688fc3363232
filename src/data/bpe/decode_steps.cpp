#include "data/bpe/decode_steps.h"

#include <charconv>
#include <numeric>

namespace sheaf::data::bpe {
namespace {

using Texts = std::vector<std::string>;

void change_by(const Replace& step, Texts& texts) {
  for (std::string& text : texts) {
    for (auto at = text.find(step.from); at != std::string::npos;) {
      text.replace(at, step.from.size(), step.to);
      at = text.find(step.from, at + step.to.size());
    }
  }
}

void change_by(const JoinBytes&, Texts& texts) {
  for (std::string& text : texts) {
    if (const auto byte = byte_named(text)) text.assign(1, *byte);
  }
}

void change_by(const JoinAll&, Texts& texts) {
  texts = {std::accumulate(texts.begin(), texts.end(), std::string())};
}

void change_by(const StripEnds& step, Texts& texts) {
  for (std::string& text : texts) {
    std::string_view kept = text;
    for (std::size_t i = 0; i < step.start && kept.starts_with(step.character); ++i) {
      kept.remove_prefix(step.character.size());
    }
    for (std::size_t i = 0; i < step.stop && kept.ends_with(step.character); ++i) {
      kept.remove_suffix(step.character.size());
    }
    text = std::string(kept);
  }
}

}  // namespace

std::optional<char> byte_named(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned value = 0;
  const char* end = text.data() + 5;
  const auto [after, error] = std::from_chars(text.data() + 3, end, value, 16);
  if (error != std::errc() || after != end) return std::nullopt;
  return static_cast<char>(value);
}

std::string joined(std::span<const DecodeStep> steps, std::vector<std::string> texts) {
  for (const auto& step : steps) {
    std::visit([&](const auto& each) { change_by(each, texts); }, step);
  }
  return std::accumulate(texts.begin(), texts.end(), std::string());
}

}  // namespace sheaf::data::bpe
