#include "sheaf/models/generate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "models/evaluation_mode.h"
#include "models/sampling.h"
#include "sheaf/base/error.h"
#include "sheaf/models/key_value_cache.h"
#include "sheaf/module/forward.h"

namespace sheaf::models {
namespace {

using Tokens = std::vector<std::int64_t>;

void check_prompt(const Tokens& prompt, const Shape& shape) {
  if (prompt.empty()) throw UsageError("a prompt must have at least 1 token, got 0");
  for (const std::int64_t token : prompt) {
    if (token >= 0 && token < shape.vocabulary) continue;
    throw UsageError(fmt::format(
        "tokens of the prompt must be between 0 and {}, got {}", shape.vocabulary - 1, token));
  }
}

void check(const Shape& shape, std::span<const Tokens> prompts, const GenerateOptions& options) {
  if (!shape.is_language_model()) throw UsageError("only a language model can continue a text");
  for (const Tokens& prompt : prompts) check_prompt(prompt, shape);
  if (options.max_new_tokens < 0) {
    throw UsageError(
        fmt::format("max_new_tokens must be at least 0, got {}", options.max_new_tokens));
  }
  if (options.vocabulary < 0 || options.vocabulary > shape.vocabulary) {
    throw UsageError(fmt::format("vocabulary must be between 0 and the model's {}, got {}",
                                 shape.vocabulary,
                                 options.vocabulary));
  }
  check_sampling(options);
}

/// A text that is being continued.
struct Row {
  std::size_t number = 0;
  Tokens text;
  std::size_t prompt_size = 0;
  /// The first token that the model sees.
  std::size_t seen_from = 0;

  [[nodiscard]] std::int64_t num_seen() const {
    return static_cast<std::int64_t>(text.size() - seen_from);
  }
};

std::vector<Row> rows_of(std::span<const Tokens> prompts, std::int64_t context) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::size_t size = prompts[i].size();
    rows.push_back({.number = i,
                    .text = prompts[i],
                    .prompt_size = size,
                    .seen_from = size - std::min(size, static_cast<std::size_t>(context))});
  }
  return rows;
}

/// Tokens that are worth keeping: those of the longest text when it has all its new ones.
std::int64_t capacity_for(const std::vector<Row>& rows, std::int64_t new_tokens, const Shape& of) {
  std::int64_t longest = 0;
  for (const Row& row : rows) longest = std::max(longest, row.num_seen());
  return longest + std::min(new_tokens, of.context - longest);
}

void check_numbers(std::span<const double> logits) {
  // A logit may be minus infinity, which is never chosen, but not all of them.
  const bool numbers =
      std::none_of(logits.begin(), logits.end(), [](double x) { return std::isnan(x); });
  if (numbers && std::isfinite(*std::max_element(logits.begin(), logits.end()))) return;
  throw Error("the model's logits are not numbers: its training has diverged");
}

/// Texts that are continued together, until each has come to its end.
class Batch {
 public:
  Batch(Model& model, std::span<const Tokens> prompts, const GenerateOptions& options)
      : model_(model),
        options_(options),
        device_(model.parameters().front().device()),
        rows_(rows_of(prompts, model.shape().context)),
        cache_(model.shape(),
               std::ssize(rows_),
               capacity_for(rows_, options.max_new_tokens, model.shape())),
        continued_(prompts.size()) {}

  std::vector<Continuation> run() {
    if (options_.max_new_tokens == 0) return std::move(continued_);
    at::Tensor logits = read_all();
    for (;;) {
      take_tokens(logits);
      if (rows_.empty()) return std::move(continued_);
      logits = make_room() ? read_all() : read_last();
    }
  }

 private:
  /// Forgets the older half of what full texts see. Returns whether there were any: then
  /// everything must be read again, because positions have changed.
  bool make_room() {
    bool is_changed = false;
    for (Row& row : rows_) {
      if (row.num_seen() <= cache_.capacity()) continue;
      const std::int64_t kept = std::max<std::int64_t>(cache_.capacity() / 2, 1);
      row.seen_from = row.text.size() - static_cast<std::size_t>(kept);
      is_changed = true;
    }
    return is_changed;
  }

  /// Reads all that is to be seen of each text, and returns the logits of what follows. Shorter
  /// texts are filled up behind their end, where no token of theirs looks.
  at::Tensor read_all() {
    cache_.clear();
    Pass pass{.cache = &cache_};
    for (const Row& row : rows_) pass.counts.push_back(row.num_seen());
    const std::int64_t longest = *std::max_element(pass.counts.begin(), pass.counts.end());
    const at::Tensor inputs = at::zeros({std::ssize(rows_), longest}, at::kLong);
    auto* to = inputs.mutable_data_ptr<std::int64_t>();
    for (const Row& row : rows_) {
      std::copy(row.text.begin() + static_cast<std::ptrdiff_t>(row.seen_from), row.text.end(), to);
      to += longest;
    }
    return forward(inputs, std::move(pass));
  }

  at::Tensor read_last() {
    const at::Tensor inputs = at::zeros({std::ssize(rows_), 1}, at::kLong);
    auto* to = inputs.mutable_data_ptr<std::int64_t>();
    for (const Row& row : rows_) *to++ = row.text.back();
    return forward(inputs, {.cache = &cache_});
  }

  at::Tensor forward(const at::Tensor& inputs, Pass pass) {
    const at::Tensor logits =
        sheaf::forward(model_, inputs.to(device_), at::Tensor(), std::move(pass));
    return logits.to(at::kCPU, at::kDouble).contiguous();
  }

  void take_tokens(const at::Tensor& logits) {
    // From the back, because the last text takes the place of one that has ended.
    for (std::size_t i = rows_.size(); i-- > 0;) {
      double* const begin =
          logits.mutable_data_ptr<double>() + static_cast<std::int64_t>(i) * logits.size(1);
      const std::int64_t known = options_.vocabulary > 0 ? options_.vocabulary : logits.size(1);
      const auto ending = take_token(rows_[i], {begin, static_cast<std::size_t>(known)});
      if (ending) finish(i, *ending);
    }
  }

  /// Returns why the text ends here, if it does.
  std::optional<Ending> take_token(Row& row, std::span<double> logits) {
    check_numbers(logits);
    const std::int64_t token = choose(row, logits);
    if (std::find(options_.stop.begin(), options_.stop.end(), token) != options_.stop.end()) {
      return Ending::stop;
    }
    row.text.push_back(token);
    if (options_.on_token && !options_.on_token(row.number, token)) return Ending::caller;
    const auto num_new = static_cast<std::int64_t>(row.text.size() - row.prompt_size);
    return num_new < options_.max_new_tokens ? std::nullopt : std::optional(Ending::length);
  }

  [[nodiscard]] std::int64_t choose(const Row& row, std::span<double> logits) const {
    penalize(logits, row.text, options_.repetition_penalty);
    if (options_.temperature == 0) return likeliest(logits);
    narrow_down(logits, options_);
    return token_at(logits, uniform(options_.seed + row.number, row.text.size()));
  }

  void finish(std::size_t i, Ending ending) {
    Row& row = rows_[i];
    const auto begin = row.text.begin() + static_cast<std::ptrdiff_t>(row.prompt_size);
    continued_[row.number] = {.tokens = {begin, row.text.end()}, .ending = ending};
    if (i + 1 != rows_.size()) row = std::move(rows_.back());
    rows_.pop_back();
    cache_.drop(i);
  }

  Model& model_;
  const GenerateOptions& options_;
  at::Device device_;
  std::vector<Row> rows_;
  KeyValueCache cache_;
  std::vector<Continuation> continued_;
};

}  // namespace

std::vector<Continuation> generate_all(Model& model,
                                       std::span<const std::vector<std::int64_t>> prompts,
                                       const GenerateOptions& options) {
  check(model.shape(), prompts, options);
  if (prompts.empty()) return {};
  const at::NoGradGuard no_grad;
  const EvaluationMode mode(model);
  return Batch(model, prompts, options).run();
}

std::vector<std::int64_t> generate(Model& model,
                                   const std::vector<std::int64_t>& prompt,
                                   const GenerateOptions& options) {
  return std::move(generate_all(model, std::span(&prompt, 1), options).front().tokens);
}

}  // namespace sheaf::models
