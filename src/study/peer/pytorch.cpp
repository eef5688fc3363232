#include "study/peer/pytorch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sheaf/base/error.h"
#include "study/child.h"
#include "study/embedded.h"
#include "study/files.h"
#include "study/peer/inputs.h"
#include "study/run_files.h"
#include "study/strategies.h"
#include "train/model_source.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

/// What PyTorch has, and what it is called here.
struct Peer {
  const char* name;
  const char* strategy;
};
constexpr std::array<Peer, 4> kPeers{Peer{"DDP", "ddp"},
                                     Peer{"DDP + ZeroRedundancyOptimizer", "zero1"},
                                     Peer{"FSDP2, kept after forward", "zero2"},
                                     Peer{"FSDP2", "zero3"}};

void refuse(const std::string& why) {
  throw UsageError(fmt::format("--against pytorch compares {}", why));
}

Json partner_of(const Peer& peer, const Json& bench, double rate) {
  for (const Json& row : bench["strategies"]) {
    if (row["strategy"] != peer.strategy || !row.contains("items_per_second")) continue;
    return {{"strategy", row["strategy"]},
            {"items_per_second", row["items_per_second"]},
            {"ratio", row["items_per_second"].get<double>() / rate},
            {"resident", row["memory"]["resident"]},
            {"measured", row["memory"]["measured"]}};
  }
  return {};
}

void add_figures(Json& row, const Json& result, const Json& bench, double items_per_step) {
  std::vector<double> seconds = result["seconds"];
  const std::size_t counted =
      std::min(seconds.size(), bench["baseline"]["counted_steps"].get<std::size_t>());
  seconds.erase(seconds.begin(), seconds.end() - static_cast<std::ptrdiff_t>(counted));
  double sum = 0;
  for (const double each : seconds) sum += each;
  row["precision"] = bench["baseline"]["precision"];
  row["torch"] = result["torch"];
  row["items_per_second"] = items_per_step * static_cast<double>(counted) / sum;
  row["step_seconds"] = {{"median", quantile(seconds, 0.5)}, {"p95", quantile(seconds, 0.95)}};
  row["memory"] = {{"resident", result["resident"]}, {"measured", result["allocated"]}};
  row["last_loss"] = result["losses"].back();
  row["losses"] = result["losses"];
  row["weights_in_sync"] = result["odd_ranks"].empty();
  if (!result["odd_ranks"].empty()) {
    row["problems"].push_back(
        fmt::format("weights out of sync: ranks {}", result["odd_ranks"].dump()));
  }
}

Json run_peer(const Peer& peer, const BenchOptions& options, const fs::path& folder) {
  const std::vector<std::string> command{options.python,
                                         "-m",
                                         "torch.distributed.run",
                                         "--standalone",
                                         "--nproc-per-node",
                                         std::to_string(options.ranks),
                                         (folder / "pytorch_peer.py").string(),
                                         (folder / "settings.json").string(),
                                         peer.strategy};
  const ChildResult child = run_child(command);
  Json result = Json::parse(last_line(child.out), nullptr, /*allow_exceptions=*/false);
  if (child.exit_code == 0 && result.is_object()) {
    result["command"] = command;
    return result;
  }
  return {{"command", command}, {"reason", last_line(child.err)}};
}

}  // namespace

void check_peer(const train::RunOptions& options, int ranks) {
  if (train::shape_of(options).family != models::Family::gpt2) refuse("GPT-2 models only");
  const models::Shape shape = train::shape_of(options);
  if (shape.dropout > 0 || shape.attention_dropout > 0) {
    refuse("runs without dropout: --model.dropout=0 --model.attention_dropout=0");
  }
  if (options.precision.compute != train::Compute::fp32) refuse("runs in fp32 only");
  if (options.optimizer.kind != train::OptimizerKind::adamw) refuse("AdamW only");
  // PyTorch's strategies average over ranks and passes, which is the mean over samples only then.
  const std::int64_t global = options.batch.global;
  const std::int64_t pass = std::max<std::int64_t>(1, options.batch.micro) * ranks;
  if (global % pass != 0) {
    refuse(
        fmt::format("batches that all ranks and passes share evenly: batch.global must be a "
                    "multiple of {}, got {}",
                    pass,
                    global));
  }
}

Json run_peers(const BenchOptions& options,
               const Json& bench,
               const fs::path& folder,
               const Progress& progress) {
  const fs::path own = folder / "pytorch";
  const train::RunOptions run = only_steps(options.run, options.steps);
  const Json settings = Json::parse(read_file(write_peer_inputs(run, options.ranks, own)));
  replace_file(own / "pytorch_peer.py", pytorch_peer());
  const double items = settings["global"].get<double>() * settings["length"].get<double>();
  Json rows = Json::array();
  for (const Peer& peer : kPeers) {
    progress(fmt::format("PyTorch {}", peer.name));
    const Json result = run_peer(peer, options, own);
    Json row = {{"name", peer.name}, {"command", result["command"]}, {"problems", Json::array()}};
    row["ending"] = result.contains("seconds") ? "finished" : "failed";
    if (result.contains("seconds")) {
      add_figures(row, result, bench, items);
      row["sheaf"] = partner_of(peer, bench, row["items_per_second"]);
    } else {
      row["problems"].push_back(result["reason"]);
    }
    rows.push_back(row);
  }
  compare_with(bench["baseline"], rows);
  return rows;
}

}  // namespace sheaf::study
