#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "sheaf/train/sinks.h"
#include "train/console_pages.h"
#include "train/figures.h"
#include "train/printable.h"
#include "train/step_line.h"

namespace sheaf::train {
namespace {

constexpr std::int64_t kUsualLines = 20;
constexpr std::int64_t kEveryWithoutAnEnd = 10;
// Eyes do not follow more, and terminals far away are slow.
constexpr Seconds kRewriteAfter{0.1};
constexpr std::string_view kClearLine = "\r\x1b[K";

class ConsoleSink final : public Sink {
 public:
  ConsoleSink(std::ostream& out, const ConsoleOptions& options) : out_(out), options_(options) {}
  ~ConsoleSink() override {
    // An error's message must not stand in the middle of the line.
    if (line_is_shown_) out_ << '\n' << std::flush;
  }
  ConsoleSink(const ConsoleSink&) = delete;
  ConsoleSink& operator=(const ConsoleSink&) = delete;

  void start(const RunInfo& info) override {
    info_ = info;
    every_ = options_.every > 0 ? options_.every : usual_distance();
    print(start_page(info));
  }

  void step(const StepRecord& step, const Progress& progress) override {
    const bool is_first = last_step_ == 0;
    const bool is_last = step.step == info_.steps;
    last_step_ = step.step;
    if (options_.live) {
      if (!line_is_shown_ || is_last || progress.elapsed - shown_at_ >= kRewriteAfter) {
        rewrite(live_step_line(info_, step, progress, options_.columns));
        shown_at_ = progress.elapsed;
      }
    } else if (is_first || is_last || step.skipped || step.step % every_ == 0) {
      print(plain_step_line(info_, step, progress) + "\n");
    }
  }

  void evaluation(const EvaluationRecord& evaluation) override {
    print(fmt::format("evaluation at step {}: {}\n",
                      grouped(evaluation.step),
                      evaluation_text(info_, evaluation)));
  }

  void sample(std::int64_t step, const std::string& text) override {
    print(fmt::format("sample at step {}:\n{}", grouped(step), printable_lines(text, "    ")));
  }

  void end(const Summary& summary) override { print(end_page(info_, summary)); }

 private:
  [[nodiscard]] std::int64_t usual_distance() const {
    if (info_.steps <= 0) return kEveryWithoutAnEnd;
    return std::max<std::int64_t>(1, (info_.steps - info_.first_step) / kUsualLines);
  }

  void rewrite(const std::string& line) {
    out_ << kClearLine << line << std::flush;
    line_is_shown_ = true;
  }

  void print(const std::string& text) {
    if (line_is_shown_) out_ << kClearLine;
    line_is_shown_ = false;
    out_ << text << std::flush;
  }

  std::ostream& out_;
  ConsoleOptions options_;
  RunInfo info_;
  std::int64_t every_ = 1;
  std::int64_t last_step_ = 0;
  bool line_is_shown_ = false;
  Seconds shown_at_{0};
};

}  // namespace

std::unique_ptr<Sink> console_sink(std::ostream& out, const ConsoleOptions& options) {
  return std::make_unique<ConsoleSink>(out, options);
}

}  // namespace sheaf::train
