// How much memory does a rank take while it loads its part of a model?
//
//   build/bench/load_model [FOLDER]
//
// Writes a Llama of 1 GB (271M parameters in fp32) to FOLDER (default: a temporary one), then loads
// it on two ranks that are processes. Growth of resident memory, pages of the mapped files
// included, from just before the load to its highest and to just after.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "sheaf/base/error.h"
#include "sheaf/base/table.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/hub/folder_writer.h"
#include "sheaf/hub/model_folder.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"
#include "sheaf/sharding/shard.h"
#include "temporary_folder.h"

namespace {

using namespace sheaf;

constexpr int kRanks = 2;
constexpr models::Shape kShape{.family = models::Family::llama,
                               .layers = 16,
                               .width = 1024,
                               .heads = 16,
                               .kv_heads = 16,
                               .head_size = 64,
                               .hidden = 2816,
                               .vocabulary = 32000,
                               .context = 2048,
                               .tied_embeddings = false};

struct Case {
  std::string name;
  at::ScalarType stored = at::kFloat;
  at::ScalarType compute = at::kFloat;
};

/// Reads a line such as "VmRSS:  1234 kB".
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  throw IoError("/proc/self/status has no " + key);
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

void write_model(const std::string& path, at::ScalarType dtype) {
  auto parameters = hub::parameters_of(kShape);
  for (auto& each : parameters) each.dtype = dtype;
  hub::FolderWriter writer(path,
                           {.config = hub::format_config(kShape, dtype), .parameters = parameters});
  for (const auto& each : parameters) writer.write(each.name, 0, at::randn(each.shape) * 0.02);
  writer.finish();
}

std::string mib(std::int64_t bytes) { return fmt::format("{:.1f} MiB", bytes / 1048576.0); }

/// What a rank has measured, in bytes.
struct Measured {
  std::int64_t baseline = 0;
  std::int64_t shards = 0;
  std::int64_t largest_unit = 0;
  std::int64_t growth = 0;
  std::int64_t after = 0;
};

/// Memory that ranks leave their results in.
Measured* shared_results() {
  void* memory = ::mmap(nullptr,
                        sizeof(Measured) * kRanks,
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS,
                        -1,
                        0);
  if (memory == MAP_FAILED) throw IoError("cannot map memory");
  return static_cast<Measured*>(memory);
}

Measured load(const std::string& path, const Case& each, const comm::Group& world) {
  Measured measured;
  world.barrier().wait();
  reset_peak();
  measured.baseline = status_bytes("VmRSS");
  const hub::ModelFolder folder(path);
  const auto model = deferred([&] { return models::build_shape(folder.config().shape); });
  ShardOptions options{.group = world, .wrap = {.names = model->blocks()}, .starts_blank = true};
  options.precision.compute = each.compute;
  const sharding::State state = shard(*model, options);
  state.load(
      [&](const sharding::Slice& slice) { folder.read(slice.name, slice.begin, slice.values); });
  measured.growth = status_bytes("VmHWM") - measured.baseline;
  measured.after = status_bytes("VmRSS") - measured.baseline;
  for (const sharding::UnitInfo& unit : state.units()) {
    const std::int64_t bytes = (unit.num_elements + unit.num_padding) * 4;
    measured.shards += bytes / world.size();
    measured.largest_unit = std::max(measured.largest_unit, bytes);
  }
  return measured;
}

void add_rows(Table& table, const Case& each, const Measured* results) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const Measured& measured = results[rank];
    const bool fits = measured.growth <= measured.shards + measured.largest_unit;
    table.add({each.name,
               std::to_string(rank),
               mib(measured.baseline),
               mib(measured.shards),
               mib(measured.largest_unit),
               mib(measured.growth),
               mib(measured.after),
               fits ? "yes" : "no"});
  }
}

int run(const std::string& root) {
  Table table({"file, compute", "rank", "before", "shards", "unit", "grows by", "after", "fits"});
  Measured* const results = shared_results();
  for (const Case& each : {Case{"fp32, fp32"},
                           Case{"fp32, bf16", at::kFloat, at::kBFloat16},
                           Case{"bf16, fp32", at::kBFloat16}}) {
    const std::string path = root + "/" + c10::toString(each.stored);
    if (!std::filesystem::exists(path)) write_model(path, each.stored);
    const auto outcomes = comm::run_ranks_forked(
        kRanks, [&](const comm::Group& world) { results[world.rank()] = load(path, each, world); });
    for (const auto& outcome : outcomes) {
      if (outcome.exit_code != 0) throw Error(outcome.error);
    }
    add_rows(table, each, results);
  }
  std::cout << table.str();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) return run(argv[1]);
  const sheaf::bench::TemporaryFolder folder;
  return run(folder / "");
} catch (const std::exception& error) {
  std::cerr << "load_model: " << error.what() << "\n";
  return 1;
}
