#include "cli/generate/continuation_text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace sheaf::cli {
namespace {

// Tokens before a new one that are decoded with it, and how many there may be until the window
// moves on: decoding everything again and again would take longer and longer.
constexpr std::size_t kBefore = 8;
constexpr std::size_t kLargestWindow = 64;

std::vector<std::int64_t> last_of(std::span<const std::int64_t> tokens) {
  const auto last = tokens.last(std::min(tokens.size(), kBefore));
  return {last.begin(), last.end()};
}

}  // namespace

ContinuationText::ContinuationText(std::shared_ptr<const data::Tokenizer> tokenizer,
                                   std::span<const std::int64_t> prompt,
                                   std::vector<std::string> stops)
    : tokenizer_(std::move(tokenizer)),
      stops_(std::move(stops)),
      window_(last_of(prompt)),
      known_(tokenizer_->decode(window_).size()) {
  for (const std::string& stop : stops_) longest_stop_ = std::max(longest_stop_, stop.size());
}

bool ContinuationText::add(std::int64_t token) {
  const std::size_t before = text_.size();
  window_.push_back(token);
  const std::string decoded = tokenizer_->decode(window_);
  text_ = settled_ + decoded.substr(std::min(known_, decoded.size()));
  if (window_.size() > kLargestWindow) move_window();
  return !cut_at_stop(before - std::min(before, longest_stop_));
}

void ContinuationText::move_window() {
  settled_ = text_;
  window_ = last_of(window_);
  known_ = tokenizer_->decode(window_).size();
}

bool ContinuationText::cut_at_stop(std::size_t from) {
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, text_.find(stop, from));
  if (end == std::string::npos) return false;
  text_.resize(end);
  return true;
}

std::size_t ContinuationText::certain_size() const {
  const std::size_t whole = text_.size() - unfinished_bytes(text_);
  for (std::size_t held = std::min(longest_stop_, text_.size()); held > 0; --held) {
    const auto end = std::string_view(text_).substr(text_.size() - held);
    const auto begins_with_it = [&](const std::string& stop) { return stop.starts_with(end); };
    if (std::ranges::any_of(stops_, begins_with_it)) return std::min(whole, text_.size() - held);
  }
  return whole;
}

std::string ContinuationText::take_up_to(std::size_t end) {
  if (end <= taken_) return "";
  std::string part = text_.substr(taken_, end - taken_);
  taken_ = end;
  return part;
}

std::string ContinuationText::take() { return take_up_to(certain_size()); }

std::string ContinuationText::take_rest() { return take_up_to(text_.size()); }

}  // namespace sheaf::cli
