#include "sheaf/train/trainer.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "assembly.h"
#include "base/signal_name.h"
#include "export.h"
#include "graph_obstacle.h"
#include "memory_labels.h"
#include "memory_limit.h"
#include "model_source.h"
#include "out_of_memory.h"
#include "rank_file.h"
#include "run_profile.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/data/loader.h"
#include "sheaf/models/generate.h"
#include "sheaf/nn/attention.h"
#include "sheaf/train/evaluate.h"
#include "sheaf/train/interruption.h"
#include "sheaf/train/memory_use.h"
#include "sheaf/train/parallelize.h"
#include "sheaf/train/step.h"
#include "train/drill.h"
#include "train/numbers_guard.h"
#include "train/run_checkpointer.h"
#include "train/step_graph.h"
#include "train/sync_check.h"
#include "weights_check.h"

namespace sheaf::train {
namespace {

using Clock = std::chrono::steady_clock;

data::Loader make_loader(const RunOptions& options,
                         const Assembly& parts,
                         const data::Position& start) {
  const comm::Group& world = parts.mesh.world();
  return {parts.data.training,
          {.rank = world.rank(),
           .ranks = world.size(),
           .global_batch = options.batch.global,
           .partial_batches = parts.plan.partial_batches,
           .seed = static_cast<std::uint64_t>(options.train.seed),
           .shuffle = options.data.shuffle,
           .workers = options.data.workers,
           .prefetch = options.data.prefetch,
           .device = parts.device,
           .copy_ahead = options.data.copy_ahead,
           .start = start}};
}

/// Whether the host looks at the numbers of a step before the update. On a GPU it would have to
/// wait for them, so it does only where something else than the end of the run depends on them.
bool is_guarded(const RunOptions& options) {
  const FaultSection& fault = options.fault;
  return options.comm.device == comm::DeviceKind::cpu || fault.spike_factor > 0 ||
         fault.nonfinite != OnBadNumbers::stop;
}

/// Decides whether steps are recorded, and says why they are not.
bool records_steps(const RunOptions& options, const comm::Group& world, const Hooks& hooks) {
  const bool on_cpu = options.comm.device == comm::DeviceKind::cpu;
  const bool wanted = options.train.graph == GraphUse::on;
  if (options.train.graph == GraphUse::off || (on_cpu && !wanted)) return false;
  const models::Shape shape = shape_of(options);
  const auto obstacle =
      graph_obstacle(options,
                     {.backend = world.backend(),
                      .dropout = std::max(shape.dropout, shape.attention_dropout),
                      .has_drill = hooks.drill != nullptr || !options.fault.inject.empty(),
                      .labels_memory = hooks.labels_memory,
                      .has_scaler = options.precision.compute == Compute::fp16,
                      .is_guarded = is_guarded(options)});
  if (!obstacle) return true;
  if (wanted) throw UsageError("train.graph = on is not possible here: " + *obstacle);
  if (world.rank() == 0) log::info("train", "steps do not become a CUDA graph: " + *obstacle);
  return false;
}

std::shared_ptr<StepGraph> make_graph(const RunOptions& options,
                                      const Assembly& parts,
                                      bool records_steps) {
  if (!records_steps) return nullptr;
  return std::make_shared<StepGraph>(StepGraphOptions{.device = parts.device,
                                                      .group = parts.mesh.world(),
                                                      .optimizer = parts.optimizer,
                                                      .global_batch = options.batch.global});
}

std::shared_ptr<Drill> drill_of(const RunOptions& options, const comm::Group& world) {
  return make_drill(options.fault, drill_options(options, world.rank()));
}

/// Who looks at a step besides the trainer.
struct StepWatchers {
  std::shared_ptr<Checkpointer> checkpointer;
  std::shared_ptr<NumbersGuard> guard;
  std::shared_ptr<Drill> drill;
  std::shared_ptr<StepGraph> graph;
};

TrainStep make_step(const RunOptions& options,
                    const Assembly& parts,
                    const Hooks& hooks,
                    const StepWatchers& watchers) {
  const auto slots = parts.optimizer->slots();
  return {{.model = parts.model,
           .state = parts.state,
           .optimizer = parts.optimizer,
           .group = parts.mesh.world(),
           .scaler = parts.scaler,
           .stop_signal = hooks.stop_signal,
           .before_update =
               [checkpointer = watchers.checkpointer] {
                 if (checkpointer) checkpointer->before_update();
               },
           .gradients_ready = watchers.drill ? [drill = watchers.drill,
                                                slots] { drill->disturb_gradients(*slots); }
                                             : std::function<void()>(),
           .approve = is_guarded(options)
                          ? [guard = watchers.guard](
                                const StepNumbers& numbers) { return guard->approve(numbers); }
                          : std::function<bool(const StepNumbers&)>(),
           .graph = watchers.graph},
          {.schedule = parts.plan.schedule,
           .micro_batch = parts.plan.micro_batch,
           .clip = options.optimizer.clip,
           .in_backward = options.optimizer.in_backward,
           .check_gradients = options.fault.nonfinite != OnBadNumbers::stop,
           .seed = static_cast<std::uint64_t>(options.train.seed),
           .traced = recorded_steps(options.profile)}};
}

std::vector<module::ClaimHandle> labels_for(const RunOptions& options,
                                            const Hooks& hooks,
                                            const models::Model& model) {
  if (!hooks.labels_memory && options.memory.limit.count == 0) return {};
  return label_memory(model);
}

/// One run, from the first step to the summary.
class Trainer {
 public:
  Trainer(const RunOptions& options, const comm::Group& world, const Hooks& hooks, bool records)
      : options_(options),
        hooks_(hooks),
        world_(world),
        parts_(assemble(options, world)),
        labels_(labels_for(options, hooks, *parts_.model)),
        info_(describe_run(options, parts_)),
        progress_{.model = parts_.state, .optimizer = parts_.optimizer, .scaler = parts_.scaler},
        drill_(hooks.drill ? hooks.drill : drill_of(options, world)),
        checkpointer_(hooks.checkpointer
                          ? hooks.checkpointer
                          : make_checkpointer(options, parts_, drill_ ? drill_->disk() : nullptr)),
        guard_(std::make_shared<NumbersGuard>(options, parts_.state, world.rank() == 0)),
        sync_check_(options, parts_),
        profile_(options, world),
        clock_(parts_.device, world),
        step_(make_step(options,
                        parts_,
                        hooks,
                        {checkpointer_, guard_, drill_, make_graph(options, parts_, records)})),
        rank_file_(options.log.dir, world.rank()) {}

  Summary run() {
    restore();
    tell([&](Sink& sink) { sink.start(info_); });
    while (!go_on()) {
    }
    finish();
    return summary_;
  }

 private:
  /// All hear it, also where one of them cannot write.
  template <class Tell>
  void tell(const Tell& what) {
    if (world_.rank() != 0) return;
    std::exception_ptr failed;
    for (const auto& sink : hooks_.sinks) {
      try {
        what(*sink);
      } catch (const IoError&) {
        if (!failed) failed = std::current_exception();
      }
    }
    if (failed) std::rethrow_exception(failed);
  }

  /// Takes steps to the end of the run; returns false where it has gone back to a checkpoint.
  bool go_on() {
    data::Loader loader = make_loader(options_, parts_, progress_.position);
    try {
      while (progress_.step < parts_.plan.steps && take_step(loader)) after_step();
      return true;
    } catch (const RollBack& reason) {
      roll_back(reason);
      return false;
    } catch (const Diverged&) {
      // All ranks are here, so what they were saving can still be ended.
      if (checkpointer_) checkpointer_->finish();
      throw;
    }
  }

  /// All ranks are here.
  void roll_back(const RollBack& reason) {
    checkpointer_->finish();
    parts_.state.zero_gradients();
    if (!checkpointer_->restore(progress_)) {
      throw Diverged(fmt::format("{}; there is no checkpoint to go back to yet", reason.what()));
    }
    guard_->went_back_to(progress_.step);
    if (world_.rank() == 0) {
      log::warning(
          "fault",
          fmt::format(
              "the run goes back to the end of step {}: {}", progress_.step, reason.what()));
    }
  }

  void restore() {
    if (checkpointer_) static_cast<void>(checkpointer_->restore(progress_));
    info_.first_step = progress_.step;
    if (hooks_.progress) hooks_.progress(progress_.step);
    profile_.resume_after(progress_.step);
    tracker_.emplace(info_,
                     TrackerOptions{.warm_up = options_.log.warm_up,
                                    .price_per_hour = options_.log.price_per_hour});
  }

  /// Returns false where a rank was asked to stop.
  bool take_step(data::Loader& loader) {
    if (drill_) rehearse();
    profile_.before_step(progress_.step + 1);
    clock_.start();
    const data::Batch batch = loader.next();
    clock_.mark(Phase::data_wait);
    const StepResult result = step_.run(batch, progress_.step, clock_);
    ++progress_.step;
    if (hooks_.progress) hooks_.progress(progress_.step);
    const StepSpans spans = clock_.finish();
    const auto account = profile_.account(progress_.step, spans);
    progress_.position = batch.next;
    progress_.items += result.targets;
    progress_.evaluation_loss.reset();
    epoch_ = batch.position.epoch;
    epoch_ended_ = batch.next.epoch > batch.position.epoch;
    record(result,
           batch,
           account.value_or(profile::Account{}),
           account ? account->times.total() : std::chrono::nanoseconds(spans.window.length()));
    return !interrupted_by(result.stop_signal);
  }

  /// Lets the faults of a drill happen that are due before a step.
  void rehearse() {
    drill_->begin_step(progress_.step + 1);
    if (!drill_->wants_files() || !checkpointer_) return;
    checkpointer_->finish();
    drill_->damage_files(options_.checkpoint.dir);
  }

  bool interrupted_by(int signal) {
    if (signal == 0 || progress_.step == parts_.plan.steps) return false;
    summary_.signal = signal;
    summary_.interrupted = "interrupted by " + signal_name(signal);
    return true;
  }

  void record(const StepResult& result,
              const data::Batch& batch,
              const profile::Account& account,
              Seconds time) {
    const double rate = options_.optimizer.learning_rate * result.learning_rate_factor;
    // Where a guard has let it pass, the step was left out.
    if (!std::isfinite(result.loss) && !is_guarded(options_)) {
      throw Diverged(fmt::format(
          "the loss of step {} is {}, with learning rate {:.3g}: a lower rate, a longer warm-up or "
          "clipping may help",
          progress_.step,
          result.loss,
          rate));
    }
    const StepRecord step{.step = progress_.step,
                          .epoch = batch.position.epoch,
                          .loss = result.loss,
                          .learning_rate = rate,
                          .gradient_norm = result.gradient_norm,
                          .items = result.targets,
                          .sample_hash = result.sample_hash,
                          .time = time,
                          .phases = account.times,
                          .collectives = account.collectives,
                          .units = account.units,
                          .memory = measure_memory(parts_.device),
                          .skipped = result.skipped};
    if (summary_.steps++ == 0) summary_.first_loss = result.loss;
    summary_.last_loss = result.loss;
    epoch_time_ += step.time;
    tracker_->add(step);
    rank_file_.write(step);
    tell([&](Sink& sink) { sink.step(step, tracker_->progress()); });
  }

  void after_step() {
    if (epoch_ended_) summary_.epochs.push_back(std::exchange(epoch_time_, Seconds{0}));
    const bool last = progress_.step == parts_.plan.steps;
    const std::int64_t every = options_.train.evaluate_every;
    const bool due = every > 0 ? progress_.step % every == 0 : epoch_ended_;
    if (due && !last) judge();
    compare_weights(last);
    if (!last) save(false);
    write_traces(last);
  }

  void compare_weights(bool last) {
    if (drill_) drill_->disturb_weights(parts_.state);
    if (!sync_check_.is_due(progress_.step, last)) return;
    const Clock::time_point began = Clock::now();
    const auto found = sync_check_.find_difference(progress_.step);
    tracker_->add_pause(Clock::now() - began);
    if (!found) return;
    // Where it happens again after the run went back for it, it would do so for ever.
    const bool again = std::exchange(out_of_sync_at_, progress_.step) == progress_.step;
    if (options_.fault.out_of_sync == OnOutOfSync::rollback && !again) throw RollBack(*found);
    throw Diverged(*found);
  }

  void write_traces(bool run_ends) {
    const Clock::time_point began = Clock::now();
    profile_.after_step(progress_.step, run_ends);
    tracker_->add_pause(Clock::now() - began);
  }

  void save(bool last) {
    if (!checkpointer_) return;
    const Clock::time_point began = Clock::now();
    checkpointer_->step_done(progress_, last);
    tracker_->add_pause(Clock::now() - began);
  }

  void judge() {
    if (!options_.train.evaluate || parts_.data.evaluation == nullptr) return;
    EvaluationRecord record = evaluate(*parts_.model,
                                       parts_.data.evaluation,
                                       world_,
                                       {.micro_batch = parts_.plan.micro_batch,
                                        .samples = options_.train.evaluate_samples,
                                        .classify = !parts_.shape.is_language_model(),
                                        .device = parts_.device});
    record.step = progress_.step;
    record.epoch = epoch_;
    tracker_->add_pause(record.time);
    summary_.evaluation = record;
    progress_.evaluation_loss = record.loss;
    tell([&](Sink& sink) { sink.evaluation(record); });
  }

  void write_sample() {
    if (options_.train.sample_tokens == 0 || parts_.data.tokenizer == nullptr) return;
    const Clock::time_point began = Clock::now();
    const auto& tokenizer = *parts_.data.tokenizer;
    const auto tokens = models::generate(*parts_.model,
                                         tokenizer.encode(options_.train.sample_prompt),
                                         {.max_new_tokens = options_.train.sample_tokens,
                                          .temperature = options_.train.sample_temperature,
                                          .vocabulary = tokenizer.vocabulary(),
                                          .seed = static_cast<std::uint64_t>(options_.train.seed)});
    tracker_->add_pause(Clock::now() - began);
    const std::string text = options_.train.sample_prompt + tokenizer.decode(tokens);
    tell([&](Sink& sink) { sink.sample(progress_.step, text); });
  }

  void write_model() {
    const Clock::time_point began = Clock::now();
    export_model(options_, parts_);
    tracker_->add_pause(Clock::now() - began);
    summary_.exported = options_.train.export_to;
  }

  /// Returns why the end of the run could not be saved, the same on all ranks; null if it was.
  std::exception_ptr save_end() {
    try {
      save(/*last=*/true);
    } catch (const IoError&) {
      return std::current_exception();
    }
    return nullptr;
  }

  /// Whatever fails after the last step, the run is worth its summary.
  void finish() {
    std::exception_ptr failed;
    try {
      failed = save_end();
      conclude();
    } catch (...) {
      // Ranks may be elsewhere now, so what only an exchange can tell is left out.
      if (!failed) failed = std::current_exception();
    }
    summary_.progress = tracker_->progress();
    const profile::Account& account = tracker_->account();
    summary_.phases = account.times;
    summary_.collectives = account.collectives;
    summary_.units = account.units;
    tell([&](Sink& sink) { sink.end(summary_); });
    if (failed) std::rethrow_exception(failed);
  }

  void conclude() {
    write_traces(/*run_ends=*/true);
    if (summary_.interrupted.empty()) {
      // First of all: nothing that goes wrong later may cost the model.
      write_model();
      judge();
      write_sample();
    }
    const RankComparison ranks =
        profile_.compare_ranks(tracker_->account().times, tracker_->progress().counted_steps);
    summary_.imbalance = ranks.imbalance;
    summary_.phases_by_rank = ranks.times;
    summary_.memory = gather_memory(measure_memory(parts_.device), world_, parts_.device);
    // Last, since what is gathered for it would count as memory of the run.
    if (options_.train.compare_weights) summary_.odd_weights = find_odd_weights(parts_);
  }

  const RunOptions& options_;
  const Hooks& hooks_;
  comm::Group world_;
  Assembly parts_;
  std::vector<module::ClaimHandle> labels_;
  RunInfo info_;
  TrainingState progress_;
  std::shared_ptr<Drill> drill_;
  std::shared_ptr<Checkpointer> checkpointer_;
  std::shared_ptr<NumbersGuard> guard_;
  SyncCheck sync_check_;
  std::int64_t out_of_sync_at_ = -1;
  RunProfile profile_;
  PhaseClock clock_;
  TrainStep step_;
  RankFile rank_file_;
  std::optional<Tracker> tracker_;
  Summary summary_;
  std::int64_t epoch_ = 0;
  bool epoch_ended_ = false;
  Seconds epoch_time_{0};
};

}  // namespace

Summary run(const RunOptions& options, const comm::Group& world, const Hooks& hooks) {
  // Kernels of our own go to the current device.
  const at::Device device = device_of(options.comm);
  const c10::DeviceGuard on_device(device);
  nn::prefer_attention_kernel(options.model.attention, device);
  const MemoryLimit limit(options.memory.limit, device);
  const bool records = records_steps(options, world, hooks);
  // The default stream cannot be recorded, and a parameter's gradients come on the stream on which
  // it was made trainable: so all of the run has one of its own.
  c10::OptionalStreamGuard on_stream;
  if (records) {
    on_stream.reset_stream(
        c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device));
  }
  try {
    return Trainer(options, world, hooks, records).run();
  } catch (const memory::OutOfMemory& error) {
    throw out_of_memory(error, options, world.size());
  } catch (const c10::OutOfMemoryError& error) {
    throw out_of_memory(error, options, world.size());
  }
}

}  // namespace sheaf::train
