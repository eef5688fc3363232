#include "sheaf/plan/traffic.h"

#include <array>

#include "sheaf/plan/units.h"

namespace sheaf::plan {
namespace {

/// Counts units and their bytes.
struct Sum {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;

  void add(std::int64_t size, std::int64_t times = 1) {
    calls += times;
    bytes += times * size;
  }
};

/// zero3: forward gathers every unit, backward all but the root and the one it begins with.
Sum gathers_of_pass(const std::vector<Unit>& units, const Setting& setting) {
  const std::int64_t element = bytes_of(setting.compute);
  Sum sum;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const bool stays = u + 2 >= units.size() || !setting.reshard_after_forward;
    sum.add(element * units[u].size, stays ? 1 : 2);
  }
  return sum;
}

Exchange within(Collective collective, const Sum& sum, const Setting& setting) {
  return {collective, sum.calls, {sum.bytes}, setting.shard};
}

}  // namespace

std::string_view name(Collective collective) {
  constexpr std::array<std::string_view, 3> kNames{"all-reduce", "all-gather", "reduce-scatter"};
  return kNames.at(static_cast<std::size_t>(collective));
}

std::vector<Exchange> traffic_of(const Architecture& model, const Setting& setting) {
  const std::vector<Unit> units = units_of(parameters_of(model), setting);
  const std::int64_t wire = bytes_of(setting.reduce);
  const std::int64_t exchanges = setting.exchanges_every_pass() ? setting.accumulation : 1;
  Sum gathers;
  Sum gradients;
  Sum copies;
  for (const Unit& unit : units) {
    if (!setting.cuts_parameters()) gathers.add(bytes_of(setting.compute) * unit.size);
    gradients.add(wire * unit.size, exchanges);
    copies.add(wire * unit.shard_size, exchanges);
  }
  if (setting.cuts_parameters()) {
    const Sum pass = gathers_of_pass(units, setting);
    gathers = {setting.accumulation * pass.calls, setting.accumulation * pass.bytes};
  }
  std::vector<Exchange> all;
  if (setting.cuts_state()) {
    all.push_back(within(Collective::all_gather, gathers, setting));
    all.push_back(within(Collective::reduce_scatter, gradients, setting));
  } else {
    all.push_back(within(Collective::all_reduce, gradients, setting));
  }
  if (setting.replicate > 1) {
    all.push_back({Collective::all_reduce, copies.calls, {copies.bytes}, setting.replicate});
  }
  return all;
}

Bytes sent_per_rank(const std::vector<Exchange>& exchanges) {
  Bytes sent;
  for (const Exchange& exchange : exchanges) {
    const std::int64_t rounds = exchange.collective == Collective::all_reduce ? 2 : 1;
    sent.count += rounds * (exchange.bytes.count / exchange.ranks * (exchange.ranks - 1));
  }
  return sent;
}

}  // namespace sheaf::plan
