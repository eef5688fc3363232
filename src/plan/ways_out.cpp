#include "sheaf/plan/ways_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>

#include "sheaf/plan/memory.h"

namespace sheaf::plan {
namespace {

// Predictions are good to a twentieth; see tests/plan.
constexpr double kMargin = 0.05;
// The shortest texts that are worth a proposal.
constexpr std::int64_t kShortest = 32;
constexpr std::size_t kMostChanges = 4;

/// A kind of change: what it can make of a run, from the gentlest on.
using Move = std::function<std::vector<WayOut>(const WayOut&)>;

WayOut changed(const WayOut& from, std::string field, std::string value, std::string meaning) {
  WayOut next = from;
  next.fields.emplace_back(std::move(field), std::move(value));
  next.meaning += (next.meaning.empty() ? "" : ", ") + meaning;
  return next;
}

std::vector<WayOut> smaller_passes(const WayOut& from) {
  std::vector<WayOut> all;
  const std::int64_t share = from.run.setting.micro_batch * from.run.setting.accumulation;
  for (std::int64_t micro = from.run.setting.micro_batch - 1; micro >= 1; --micro) {
    if (share % micro != 0) continue;
    const std::string passes = fmt::format(
        "{} text{} at a time in {} passes", micro, micro == 1 ? "" : "s", share / micro);
    all.push_back(changed(from, "batch.micro", std::to_string(micro), passes));
    all.back().run.setting.micro_batch = micro;
    all.back().run.setting.accumulation = share / micro;
  }
  return all;
}

std::vector<WayOut> reduced_passes(const WayOut& from) {
  const Setting& setting = from.run.setting;
  if (!setting.cuts_gradients() || setting.exchanges_every_pass()) return {};
  std::vector<WayOut> all{
      changed(from, "shard.no_sync", "reduce", "gradients exchanged in every pass")};
  all.back().run.setting.reduces_every_pass = true;
  return all;
}

std::vector<WayOut> deeper_stages(const WayOut& from) {
  constexpr std::array<std::pair<Stage, const char*>, 3> kCuts{
      std::pair{Stage::zero1, "optimizer state"},
      std::pair{Stage::zero2, "optimizer state and gradients"},
      std::pair{Stage::zero3, "everything"}};
  std::vector<WayOut> all;
  if (from.run.setting.shard == 1) return all;
  for (const auto& [stage, what] : kCuts) {
    if (stage <= from.run.setting.stage) continue;
    Setting next = from.run.setting;
    next.stage = stage;
    next.flat = next.flat && stage != Stage::zero3;
    all.push_back(changed(
        from, "shard.stage", strategy_name(next), fmt::format("{} cut over the ranks", what)));
    all.back().run.setting = next;
  }
  return all;
}

std::vector<WayOut> no_attention_dropout(const WayOut& from) {
  if (from.run.model.attention_dropout == 0) return {};
  std::vector<WayOut> all{
      changed(from, "model.attention_dropout", "0", "attention without dropout keeps no weights")};
  all.back().run.model.attention_dropout = 0;
  return all;
}

std::vector<WayOut> low_precision(const WayOut& from) {
  if (from.run.setting.compute != Number::fp32) return {};
  std::vector<WayOut> all{
      changed(from, "precision.compute", "bf16", "forward and backward in bf16")};
  all.back().run.setting.compute = Number::bf16;
  return all;
}

std::vector<WayOut> shorter_texts(const WayOut& from) {
  std::vector<WayOut> all;
  const std::int64_t context = from.run.model.context;
  for (const auto& [part, of] : {std::pair{3, 4}, {1, 2}, {1, 4}, {1, 8}, {1, 16}}) {
    const std::int64_t length = context * part / of;
    if (length < kShortest) break;
    all.push_back(changed(from,
                          "model.context",
                          std::to_string(length),
                          fmt::format("texts of {} tokens instead of {}", length, context)));
    all.back().run.model.context = length;
    all.back().run.setting.sequence = 0;
  }
  return all;
}

/// The global batch stays, so every rank has less of it.
std::vector<WayOut> more_ranks(const WayOut& from) {
  std::vector<WayOut> all;
  const Setting& setting = from.run.setting;
  const std::int64_t share = setting.micro_batch * setting.accumulation;
  for (const int times : {2, 4, 8}) {
    if (share % times != 0) continue;
    const std::int64_t micro = std::min(setting.micro_batch, share / times);
    if (share / times % micro != 0) continue;
    const int ranks = setting.shard * setting.replicate * times;
    all.push_back(changed(from, "ranks", std::to_string(ranks), fmt::format("{} ranks", ranks)));
    if (micro != setting.micro_batch) {
      all.back().fields.emplace_back("batch.micro", std::to_string(micro));
    }
    Setting& next = all.back().run.setting;
    next.shard *= times;
    next.micro_batch = micro;
    next.accumulation = share / times / micro;
  }
  return all;
}

std::vector<WayOut> fewer_layers(const WayOut& from) {
  std::vector<WayOut> all;
  const std::int64_t layers = from.run.model.layers;
  for (std::int64_t left = layers / 2; left >= 1; left /= 2) {
    all.push_back(
        changed(from,
                "model.layers",
                std::to_string(left),
                fmt::format("{} layer{} instead of {}", left, left == 1 ? "" : "s", layers)));
    all.back().run.model.layers = left;
  }
  return all;
}

/// In an order in which each may make the next one possible.
const std::array<Move, 8>& moves() {
  static const std::array<Move, 8> kMoves{smaller_passes,
                                          deeper_stages,
                                          reduced_passes,
                                          no_attention_dropout,
                                          low_precision,
                                          shorter_texts,
                                          more_ranks,
                                          fewer_layers};
  return kMoves;
}

/// A move, and which of what it can do; the strongest if there are not as many.
struct Step {
  std::size_t move = 0;
  std::size_t strength = std::numeric_limits<std::size_t>::max();
};

/// Returns a run with all steps taken; nothing if one of them cannot be.
std::optional<WayOut> taken(const PlannedRun& run, const std::vector<Step>& steps) {
  WayOut way{.run = run};
  for (const Step& step : steps) {
    std::vector<WayOut> possible = moves()[step.move](way);
    if (possible.empty()) return std::nullopt;
    way = std::move(possible[std::min(step.strength, possible.size() - 1)]);
  }
  return way;
}

class Search {
 public:
  Search(const PlannedRun& run, Bytes limit, std::size_t most)
      : run_(run), limit_(limit), most_(most) {}

  /// Tries all sets of `others` moves before `last`, together with that one.
  void go(std::size_t last, std::size_t others) { extend({}, 0, {last, others}); }

  [[nodiscard]] bool is_done() const { return found_.size() >= most_; }
  [[nodiscard]] std::vector<WayOut> take() { return std::move(found_); }

 private:
  struct Goal {
    std::size_t last;
    std::size_t others;
  };

  void extend(std::vector<Step> steps, std::size_t next, const Goal& goal) {
    if (is_done()) return;
    if (steps.size() == goal.others) {
      steps.push_back({goal.last});
      return consider(std::move(steps));
    }
    for (std::size_t move = next; move < goal.last; ++move) {
      std::vector<Step> longer = steps;
      longer.push_back({move});
      extend(std::move(longer), move + 1, goal);
    }
  }

  void consider(std::vector<Step> steps) {
    if (has_found_part_of(steps)) return;
    std::optional<WayOut> way = fitting(steps);
    if (!way) return;
    // As gentle as they may be, the last first: it does most harm.
    for (std::size_t i = steps.size(); i-- > 0;) {
      for (steps[i].strength = 0;; ++steps[i].strength) {
        way = fitting(steps);
        if (way) break;
      }
    }
    sets_.push_back(std::move(steps));
    found_.push_back(std::move(*way));
  }

  [[nodiscard]] std::optional<WayOut> fitting(const std::vector<Step>& steps) const {
    std::optional<WayOut> way = taken(run_, steps);
    if (!way) return std::nullopt;
    way->peak = predict_memory(way->run.model, way->run.setting).peak;
    const double needed = (1 + kMargin) * static_cast<double>(way->peak.count);
    return needed <= static_cast<double>(limit_.count) ? way : std::nullopt;
  }

  /// Whoever has found that some changes are enough need not hear of more.
  [[nodiscard]] bool has_found_part_of(const std::vector<Step>& steps) const {
    return std::ranges::any_of(sets_, [&](const std::vector<Step>& enough) {
      return std::ranges::includes(steps, enough, {}, &Step::move, &Step::move);
    });
  }

  const PlannedRun& run_;
  Bytes limit_;
  std::size_t most_;
  std::vector<WayOut> found_;
  /// The moves of each.
  std::vector<std::vector<Step>> sets_;
};

}  // namespace

std::vector<WayOut> ways_out(const PlannedRun& run, Bytes limit, std::size_t most) {
  Search search(run, limit, most);
  for (std::size_t last = 0; last < moves().size(); ++last) {
    for (std::size_t others = 0; others < kMostChanges && !search.is_done(); ++others) {
      search.go(last, others);
    }
  }
  return search.take();
}

}  // namespace sheaf::plan
