#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"
#include "sheaf/base/version.h"
#include "sheaf/plan/memory.h"
#include "sheaf/train/prediction.h"
#include "study/files.h"
#include "study/gains.h"
#include "study/parts.h"
#include "study/peak.h"
#include "study/peer/pytorch.h"
#include "study/strategies.h"
#include "study/sweep.h"
#include "study/timeline.h"
#include "study/traces.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOneRank = "one rank";

/// Changes whenever something does that the results depend on.
std::string key_of(StudySection study, train::RunOptions run) {
  // Where the study lies does not matter, and how its report is called neither.
  study.title = "";
  study.projection = {};
  // Another part, which changes none of the others.
  study.against = Against::nobody;
  study.python = "";
  run.log.dir = "";
  const std::string text =
      write_toml(fields_of(study)) + write_toml(fields_of(run)) + std::string(version());
  return fmt::format("{:016x}\n", checksum_of(text));
}

class Study {
 public:
  Study(StudySection study, const train::RunOptions& run, fs::path folder, const Progress& progress)
      : study_(std::move(study)),
        run_(run),
        folder_(std::move(folder)),
        progress_(progress),
        parts_(folder_ / "parts", key_of(study_, run)) {
    if (study_.strategies.empty()) study_.strategies = usual_strategies(study_.ranks);
  }

  Json run() {
    Json all;
    all["settings"] = settings();
    all["baseline"] = part("baseline", [&] { return measure_strategy(alone(), runs()); });
    require_finished(all["baseline"]);
    all["strategies"] = strategies();
    compare_with(all["baseline"], all["strategies"]);
    all["profiles"] = profiles();
    all["memory"] = memory();
    all["differences"] = differences(all["profiles"]);
    all["sweep"] = sweep();
    all["gains"] = study_.gains ? gains(all["sweep"]) : Json::array();
    all["pytorch"] = peers(all);
    all["projection"] = projection();
    all["start"] = read_run(runs() / "one_rank").start;
    share_peak(all);
    return all;
  }

 private:
  [[nodiscard]] fs::path runs() const { return folder_ / "runs"; }

  template <class Make>
  Json part(const std::string& name, const Make& make) const {
    return parts_.get(name, [&] {
      progress_(name);
      return make();
    });
  }

  [[nodiscard]] Json settings() const {
    return {{"ranks", study_.ranks},
            {"strategies", study_.strategies},
            {"steps", study_.steps},
            {"global_batch", run_.batch.global},
            {"micro_batch", alone().options.batch.micro},
            {"seed", run_.train.seed},
            {"no_sync", enum_name(run_.shard.no_sync)},
            {"unit_per_block", run_.shard.min_parameters == 0},
            {"device", enum_name(run_.comm.device)}};
  }

  [[nodiscard]] StrategyRun alone() const { return one_rank(run_, study_.ranks, study_.steps); }
  [[nodiscard]] StrategyRun with(const std::string& strategy) const {
    return {.options = run_, .strategy = strategy, .ranks = study_.ranks, .steps = study_.steps};
  }

  static void require_finished(const Json& row) {
    if (row.contains("items_per_second")) return;
    throw Error(fmt::format("the run on one rank {}", row["problems"][0].get<std::string>()));
  }

  Json strategies() const {
    Json rows = Json::array();
    for (const std::string& name : study_.strategies) {
      rows.push_back(
          part("strategy " + name, [&] { return measure_strategy(with(name), runs()); }));
    }
    return rows;
  }

  /// What is asked of every strategy and of one rank, by their names.
  template <class Ask>
  Json of_all(const std::string& what, const Ask& ask) const {
    Json all = Json::object();
    all[kOneRank] = part(what + " of one rank", [&] { return ask(alone(), kOneRank); });
    for (const std::string& name : study_.strategies) {
      all[name] = part(what + " of " + name, [&] { return ask(with(name), name); });
    }
    return all;
  }

  Json profiles() const {
    return of_all("profile", [&](StrategyRun run, const std::string& name) {
      // The first steps make states and learn the order of units.
      run.steps = study_.profiled_steps + 3;
      return profile_strategy(run, file_name(name), study_.profiled_steps, folder_ / "traces");
    });
  }

  Json memory() const {
    return of_all("memory", [&](const StrategyRun& run, const std::string& name) {
      const Trial trial{.name = file_name(name), .options = options_for(run), .ranks = run.ranks};
      Json report = measure_memory(trial, folder_ / "memory");
      thin_timeline(report);
      return report;
    });
  }

  Json differences(const Json& profiles) const {
    const std::vector<std::pair<std::string, std::string>> pairs{
        {kOneRank, "ddp"}, {"ddp", "zero3"}, {"ddp", "zero2"}};
    Json all = Json::array();
    for (const auto& names : pairs) {
      const std::string& before = names.first;
      const std::string& after = names.second;
      const auto is_there = [&](const std::string& name) {
        return profiles.contains(name) && profiles[name].contains("ranks");
      };
      if (!is_there(before) || !is_there(after)) continue;
      Json row = part(fmt::format("difference of {} and {}", before, after), [&] {
        return trace_difference(folder_ / "traces" / file_name(before),
                                folder_ / "traces" / file_name(after));
      });
      row["before"] = before;
      row["after"] = after;
      all.push_back(row);
    }
    return all;
  }

  Json sweep() const {
    SweepOptions options{
        .run = run_, .ranks = 1, .steps = study_.sweep_steps, .first = 1, .most = study_.sweep_to};
    options.run.shard.stage = "ddp";
    options.run.mesh = {};
    options.run.fault = {};
    options.run.memory.limit = sweep_limit(run_, options.ranks);
    return part("sweep", [&] {
      return run_sweep(options, [&](std::int64_t batch) {
        return part(fmt::format("micro-batch {}", batch),
                    [&] { return measure_batch(options, batch, folder_ / "sweep"); });
      });
    });
  }

  Json gains(const Json& sweep) const {
    const std::int64_t share = alone().options.batch.micro;
    const std::int64_t batch = sweep["knee"].is_null() ? share : sweep["knee"].get<std::int64_t>();
    Json rows = Json::array();
    for (const GainStep& step : gain_steps(run_, study_.ranks, batch)) {
      Json row = part("gain " + step.name, [&] { return measure_gain(step); });
      rows.push_back(row);
    }
    return rows;
  }

  Json measure_gain(const GainStep& step) const {
    const StrategyRun run{.options = step.options,
                          .strategy = run_.shard.stage,
                          .ranks = study_.ranks,
                          .steps = study_.sweep_steps};
    const Trial trial{
        .name = file_name(step.name), .options = options_for(run), .ranks = run.ranks};
    Json row = {{"name", step.name}, {"meaning", step.meaning}};
    row.update(row_of(run_trial(trial, folder_ / "gains"), trial.options, run.ranks));
    row.erase("environment");
    row.erase("losses");
    return row;
  }

  Json peers(const Json& all) const {
    if (study_.against == Against::nobody) return Json::array();
    const BenchOptions options{.run = run_,
                               .strategies = study_.strategies,
                               .ranks = study_.ranks,
                               .steps = study_.steps,
                               .python = study_.python};
    return part("pytorch", [&] { return run_peers(options, all, folder_, progress_); });
  }

  /// What a rank would hold with other numbers of devices, each with the batch it has now.
  [[nodiscard]] Json projection() const {
    Json rows = Json::array();
    for (const std::string& name : study_.strategies) {
      for (const std::int64_t devices : study_.projection) {
        train::RunOptions options = options_for(with(name));
        options.batch.global = options.batch.global / study_.ranks * devices;
        const bool possible = devices % std::max(1, options.mesh.replicate) == 0;
        rows.push_back(
            {{"strategy", name},
             {"devices", devices},
             {"peak", possible ? predicted_peak(options, static_cast<int>(devices)) : Json()}});
      }
    }
    return rows;
  }

  StudySection study_;
  train::RunOptions run_;
  fs::path folder_;
  const Progress& progress_;
  Parts parts_;
};

}  // namespace

Json run_study(const StudySection& study,
               const train::RunOptions& run,
               const fs::path& folder,
               const Progress& progress) {
  train::check_options(only_steps(run, study.steps), study.ranks);
  if (study.against == Against::pytorch) check_peer(run, study.ranks);
  return Study(study, run, folder, progress).run();
}

}  // namespace sheaf::study
