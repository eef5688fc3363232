// No rank ever holds a whole copy of a model that it loads: by the ledger, and by counting all
// tensors of the process. Ranks are processes over gloo, so that everything they hold is counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hub/sample_models.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/hub/model_folder.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/module/deferred.h"
#include "sheaf/sharding/shard.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

// A piece of a file on its way, small norms, control exchanges.
constexpr std::int64_t kSmall = std::int64_t{5} << 19;

const models::Shape kShape{.family = models::Family::llama,
                           .layers = 8,
                           .width = 256,
                           .heads = 4,
                           .kv_heads = 4,
                           .head_size = 64,
                           .hidden = 1024,
                           .vocabulary = 2048,
                           .context = 64,
                           .tied_embeddings = false};

std::int64_t bytes_in_use() { return memory::cpu_usage().current.count; }

/// Loads on one rank and checks what it took.
void load(const std::string& path, const comm::Group& world, at::ScalarType compute) {
  const std::int64_t start = bytes_in_use();
  memory::reset_cpu_peak();
  const hub::ModelFolder folder(path);
  const auto model = deferred([&] { return models::build_shape(folder.config().shape); });
  ShardOptions options{.group = world, .wrap = {.names = model->blocks()}, .starts_blank = true};
  options.precision.compute = compute;
  const sharding::State state = shard(*model, options);
  state.load(
      [&](const sharding::Slice& slice) { folder.read(slice.name, slice.begin, slice.values); });
  std::int64_t shards = 0;
  std::int64_t largest_unit = 0;
  for (const sharding::UnitInfo& unit : state.units()) {
    const std::int64_t bytes = (unit.num_elements + unit.num_padding) * 4;
    shards += bytes / world.size();
    largest_unit = std::max(largest_unit, bytes);
  }
  const memory::Ledger& ledger = state.ledger();
  require(ledger.peak(memory::Purpose::parameters).count == shards, "the ledger has more of them");
  require(ledger.peak(memory::Purpose::gathered).count == 0, "the ledger has a whole unit");
  // Gradients of the first pass have their place from the start.
  const std::int64_t kept = shards + ledger.current(memory::Purpose::gradients).count;
  const std::int64_t peak = memory::cpu_usage().peak.count - start;
  require(peak <= kept + largest_unit + kSmall,
          fmt::format("peak {}, kept {}, largest unit {}", peak, kept, largest_unit));
  require(largest_unit + kSmall < shards * (world.size() - 1), "the bound proves nothing");
}

TEST(LoadMemory, IsTheShardsAndOneUnit) {
  const TemporaryFolder folder;
  write_sample(
      folder.path("model"), kShape, {.dtype = at::kBFloat16, .shard_size = Bytes{9 << 20}});
  for (const at::ScalarType compute : {at::kFloat, at::kBFloat16}) {
    const auto outcomes = comm::run_ranks_forked(
        2,
        [&](const comm::Group& world) { load(folder.path("model"), world, compute); },
        {.backend = comm::BackendKind::gloo, .timeout = Seconds(60)});
    for (const auto& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  }
}

}  // namespace
}  // namespace sheaf::testing

int main(int argc, char** argv) {
  sheaf::memory::count_cpu_tensors();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
