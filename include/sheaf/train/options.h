#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/comm/init.h"
#include "sheaf/data/options.h"
#include "sheaf/models/options.h"
#include "sheaf/optim/schedule.h"
#include "sheaf/train/checkpoint_section.h"
#include "sheaf/train/fault_section.h"
#include "sheaf/train/memory_section.h"
#include "sheaf/train/profile_section.h"
#include "sheaf/train/sections.h"

namespace sheaf::train {

/// A whole run, as a configuration file describes it; every section is one struct.
struct RunOptions {
  models::ModelOptions model;
  data::DataOptions data;
  MeshOptions mesh;
  ShardSection shard;
  PrecisionSection precision;
  OptimizerSection optimizer;
  optim::ScheduleOptions schedule;
  BatchOptions batch;
  TrainSection train;
  LogSection log;
  MemorySection memory;
  CheckpointSection checkpoint;
  ProfileSection profile;
  FaultSection fault;
  comm::InitOptions comm;
};

/// Lists the sections; see Note [Describing options].
template <class Fields>
void describe(Fields& field, RunOptions& run) {
  field.section("model", run.model);
  field.section("data", run.data);
  field.section("mesh", run.mesh);
  field.section("shard", run.shard);
  field.section("precision", run.precision);
  field.section("optimizer", run.optimizer);
  field.section("schedule", run.schedule);
  field.section("batch", run.batch);
  field.section("train", run.train);
  field.section("log", run.log);
  field.section("memory", run.memory);
  field.section("checkpoint", run.checkpoint);
  field.section("profile", run.profile);
  field.section("fault", run.fault);
  field.section("comm", run.comm);
}

/// Throws UsageError for options that do not fit together, or to the number of ranks.
void check_options(const RunOptions& options, int ranks);
/// The same, and for files that are not there or do not fit: data, and the run of log.baseline.
void check(const RunOptions& options, int ranks);

/// Opens the data that the options name, for the model that they name. Throws UsageError.
[[nodiscard]] data::Data open_data(const RunOptions& options);

}  // namespace sheaf::train
