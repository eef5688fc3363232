#include "train/step_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "train/figures.h"
#include "train/printable.h"

namespace sheaf::train {
namespace {

constexpr std::size_t kShortestBar = 8;
constexpr std::size_t kLongestBar = 32;
constexpr std::string_view kGap = "  ";

/// A part of a line; the least important ones go first where there is no room.
struct Piece {
  std::string text;
  int importance = 0;
};

std::string position_text(const RunInfo& info, const StepRecord& step) {
  if (info.steps <= 0) return grouped(step.step);
  const std::string steps = grouped(info.steps);
  return fmt::format("{:>{}}/{}", grouped(step.step), steps.size(), steps);
}

// On the CPU tensors are counted only where someone asked for it; the process always is.
Bytes memory_of(const StepRecord& step) {
  return step.memory.peak_allocated.count > 0 ? step.memory.peak_allocated
                                              : step.memory.peak_resident;
}

std::string rate_of(const RunInfo& info, const Progress& progress) {
  return fmt::format("{} {}/s", rate_text(progress.items_per_second), info.item_name);
}

/// How much of a step computes, and how much waits for other ranks.
std::vector<std::string> shares_of(const StepRecord& step) {
  const PhaseTimes& phases = step.phases;
  if (phases.total().count() <= 0) return {};
  const Seconds busy = phases.compute() + phases.optimizer;
  std::vector<std::string> shares = {"compute " + percent_text(busy / phases.total())};
  if (phases.communication().count() > 0) {
    shares.push_back("exposed " + percent_text(phases.exposed_communication / phases.total()));
  }
  return shares;
}

std::string joined(const std::vector<Piece>& pieces) {
  std::string line;
  for (const Piece& piece : pieces) line.append(line.empty() ? "" : kGap).append(piece.text);
  return line;
}

std::vector<Piece> live_pieces(const RunInfo& info,
                               const StepRecord& step,
                               const Progress& progress) {
  std::vector<Piece> pieces{{position_text(info, step), 6},
                            {fmt::format("loss {:.4f}", step.loss), 5}};
  if (step.skipped) pieces.push_back({"skipped", 7});
  pieces.push_back({rate_of(info, progress), 3});
  if (progress.mfu) pieces.push_back({"MFU " + percent_text(*progress.mfu), 2});
  for (const std::string& share : shares_of(step)) pieces.push_back({share, 0});
  if (memory_of(step).count > 0) pieces.push_back({to_string(memory_of(step)), 1});
  if (progress.cost) pieces.push_back({fmt::format("cost {:.2f}", *progress.cost), 1});
  if (info.steps > 0) pieces.push_back({left_text(progress.remaining), 4});
  return pieces;
}

// Thick for what is done, thin for the rest.
std::string bar(double part, std::size_t columns) {
  const auto done = static_cast<std::size_t>(
      std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(columns)));
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) text += i < done ? "\u2501" : "\u2500";
  return text;
}

}  // namespace

std::string plain_step_line(const RunInfo& info, const StepRecord& step, const Progress& progress) {
  std::string line = fmt::format("step {}{}loss {:>8.4f}{}{:>9} {}/s",
                                 position_text(info, step),
                                 kGap,
                                 step.loss,
                                 kGap,
                                 rate_text(progress.items_per_second),
                                 info.item_name);
  if (progress.mfu) line += fmt::format("{}MFU {:>6}", kGap, percent_text(*progress.mfu));
  for (const std::string& share : shares_of(step)) line += fmt::format("{}{:>14}", kGap, share);
  if (memory_of(step).count > 0) {
    line += fmt::format("{}memory {:>9}", kGap, to_string(memory_of(step)));
  }
  if (progress.cost) line += fmt::format("{}cost {:>7.2f}", kGap, *progress.cost);
  if (info.steps > 0) line += fmt::format("{}{:>13}", kGap, left_text(progress.remaining));
  if (step.skipped) line += fmt::format("{}skipped: gradients overflowed", kGap);
  return line;
}

std::string live_step_line(const RunInfo& info,
                           const StepRecord& step,
                           const Progress& progress,
                           int columns) {
  // The last column stays free: some terminals go to the next line when it is written.
  const auto room = static_cast<std::size_t>(std::max(0, columns - 1));
  const std::size_t for_bar = info.steps > 0 ? kShortestBar + kGap.size() : 0;
  std::vector<Piece> pieces = live_pieces(info, step, progress);
  while (pieces.size() > 1 && width_of(joined(pieces)) + for_bar > room) {
    pieces.erase(std::ranges::min_element(pieces, {}, &Piece::importance));
  }
  std::string line = joined(pieces);
  if (info.steps > 0 && width_of(line) + for_bar <= room) {
    const std::size_t left = room - width_of(line) - kGap.size();
    const double part = static_cast<double>(step.step) / static_cast<double>(info.steps);
    line = bar(part, std::min(left, kLongestBar)).append(kGap).append(line);
  }
  return cut_to(line, room);
}

std::string evaluation_text(const RunInfo& info, const EvaluationRecord& evaluation) {
  std::string text = fmt::format("loss {:.4f}", evaluation.loss);
  if (evaluation.accuracy) text += ", accuracy " + percent_text(*evaluation.accuracy);
  // What a loss in nats per token means is easier to see as a number of choices.
  if (info.item_name == "tokens")
    text += fmt::format(", perplexity {:.4g}", std::exp(evaluation.loss));
  if (evaluation.items > 0) {
    text += fmt::format(
        ", {} {} in {}", grouped(evaluation.items), info.item_name, to_string(evaluation.time));
  }
  return text;
}

}  // namespace sheaf::train
