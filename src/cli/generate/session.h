#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/generate/prompts.h"
#include "cli/generate/report.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/models/generate.h"

namespace sheaf::cli {

struct SessionOptions {
  std::shared_ptr<models::Model> model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  models::GenerateOptions generate;
  /// Texts that end a continuation before them.
  std::vector<std::string> stops;
  /// Ends all texts as soon as it returns true.
  std::function<bool()> should_stop;
};

/// Continues prompts together, and measures how long that takes.
class GenerateSession {
 public:
  explicit GenerateSession(SessionOptions options) : options_(std::move(options)) {}

  /// Gets a text part by part.
  using Show = std::function<void(const std::string& part)>;

  /// Continues these prompts, which come behind those of earlier calls. `show` gets the text of the
  /// first one while it grows; it may be empty.
  [[nodiscard]] std::vector<GeneratedText> run(std::span<const Prompt> prompts, const Show& show);

  [[nodiscard]] const GenerateSpeed& speed() const { return speed_; }

 private:
  SessionOptions options_;
  GenerateSpeed speed_;
  std::size_t num_texts_ = 0;
};

}  // namespace sheaf::cli
