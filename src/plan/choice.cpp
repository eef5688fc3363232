#include "sheaf/plan/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sheaf/plan/traffic.h"

namespace sheaf::plan {
namespace {

// Who sends this much more sends as much.
constexpr double kSameTraffic = 1.01;
// What should stay free.
constexpr double kRoom = 0.1;

Setting with(Setting base, Stage stage, int shard, int replicate) {
  base.stage = stage;
  base.shard = shard;
  base.replicate = replicate;
  base.reshard_after_forward = true;
  return base;
}

bool fits(const Architecture& model, Setting setting, std::int64_t batch, Bytes memory) {
  setting.micro_batch = batch;
  return predict_memory(model, setting).peak <= memory;
}

std::vector<std::size_t> fitting(const std::vector<Candidate>& candidates, Bytes memory) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].memory.peak <= memory) found.push_back(i);
  }
  return found;
}

std::size_t leanest(const std::vector<Candidate>& candidates,
                    const std::vector<std::size_t>& among) {
  return *std::ranges::min_element(
      among, {}, [&](std::size_t i) { return candidates[i].memory.peak; });
}

std::string why_none(const std::vector<Candidate>& candidates, Bytes memory) {
  const auto least =
      std::ranges::min_element(candidates, {}, [](const auto& each) { return each.memory.peak; });
  return fmt::format("nothing fits: {} comes nearest and needs {} more",
                     strategy_name(least->setting),
                     to_string(Bytes{least->memory.peak.count - memory.count}));
}

}  // namespace

std::vector<Setting> strategies_for(const Setting& base, int devices, int node) {
  std::vector<Setting> all{with(base, Stage::ddp, devices, 1)};
  if (devices == 1) return all;
  for (const Stage stage : {Stage::zero1, Stage::zero2}) {
    all.push_back(with(base, stage, devices, 1));
  }
  all.push_back(with(base, Stage::zero3, devices, 1));
  all.back().reshard_after_forward = false;
  all.push_back(with(base, Stage::zero3, devices, 1));
  if (node > 1 && devices % node == 0 && devices / node > 1) {
    all.push_back(with(base, Stage::zero3, node, devices / node));
  }
  return all;
}

Candidate consider(const Architecture& model, const Setting& setting) {
  return {.setting = setting,
          .memory = predict_memory(model, setting),
          .sent = sent_per_rank(traffic_of(model, setting))};
}

std::int64_t largest_batch(const Architecture& model,
                           Setting setting,
                           Bytes memory,
                           std::int64_t most) {
  std::int64_t good = 0;
  std::int64_t bad = 1;
  while (bad <= most && fits(model, setting, bad, memory)) {
    good = bad;
    bad *= 2;
  }
  bad = std::min(bad, most + 1);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(model, setting, middle, memory) ? good : bad) = middle;
  }
  return good;
}

Recommendation recommend(const std::vector<Candidate>& candidates, Bytes memory) {
  const std::vector<std::size_t> possible = fitting(candidates, memory);
  if (possible.empty()) return {.index = std::nullopt, .reason = why_none(candidates, memory)};
  Bytes least = candidates[possible.front()].sent;
  for (const std::size_t i : possible) least = std::min(least, candidates[i].sent);
  std::vector<std::size_t> quick;
  std::ranges::copy_if(possible, std::back_inserter(quick), [&](std::size_t i) {
    return static_cast<double>(candidates[i].sent.count) <=
           kSameTraffic * static_cast<double>(least.count);
  });
  const auto roomy = std::ranges::find_if(quick, [&](std::size_t i) {
    return static_cast<double>(candidates[i].memory.peak.count) <=
           (1 - kRoom) * static_cast<double>(memory.count);
  });
  const std::size_t chosen = roomy != quick.end() ? *roomy : leanest(candidates, quick);
  const Bytes spare{memory.count - candidates[chosen].memory.peak.count};
  const std::string others = possible.size() == 1
                                 ? "the only one that fits"
                                 : fmt::format("sends no more than the other {} that fit{}",
                                               possible.size() - 1,
                                               possible.size() == 2 ? "s" : "");
  const std::string room = roomy != quick.end() ? "the simplest of those with room"
                                                : "the one of those that holds least";
  return {.index = chosen,
          .reason = fmt::format("{}, {}; {} stay free", others, room, to_string(spare))};
}

}  // namespace sheaf::plan
