#include "sheaf/train/trainer.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>
#include <iterator>
#include <utility>

#include "assembly.h"
#include "base/signal_name.h"
#include "comm/priority_stream.h"
#include "export.h"
#include "make_step.h"
#include "memory_labels.h"
#include "memory_limit.h"
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

std::shared_ptr<Drill> drill_of(const RunOptions& options, const comm::Group& world) {
  return make_drill(options.fault, drill_options(options, world.rank()));
}

std::vector<module::ClaimHandle> labels_for(const RunOptions& options,
                                            const Hooks& hooks,
                                            const models::Model& model) {
  if (!hooks.labels_memory && options.memory.limit.count == 0) return {};
  return label_memory(model);
}

constexpr std::size_t kMostUnderWay = 2;

/// A step that was given to the device.
struct UnderWay {
  data::Batch batch;
  PhaseClock* clock = nullptr;
};

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
        clocks_{PhaseClock(parts_.device, world), PhaseClock(parts_.device, world)},
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
    TORCH_INTERNAL_ASSERT(under_way_.empty());
    checkpointer_->finish();
    parts_.state.zero_gradients();
    if (!checkpointer_->restore(progress_)) {
      throw Diverged(fmt::format("{}; there is no checkpoint to go back to yet", reason.what()));
    }
    guard_->went_back_to(progress_.step);
    profile_.went_back_to(progress_.step);
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

  /// Ends a step, the next one begun before it where that may be. Returns false where a rank was
  /// asked to stop.
  bool take_step(data::Loader& loader) {
    if (under_way_.empty()) begin_step(loader);
    std::exception_ptr failed;
    try {
      if (may_run_ahead()) begin_step(loader);
    } catch (const CommError&) {
      throw;
    } catch (...) {
      failed = std::current_exception();
    }
    // Whatever keeps the next one from beginning, this one has been taken.
    const bool goes_on = end_step();
    if (failed) std::rethrow_exception(failed);
    return goes_on;
  }

  void begin_step(data::Loader& loader) {
    const std::int64_t step = progress_.step + std::ssize(under_way_);
    if (drill_) rehearse();
    profile_.before_step(step + 1, /*is_behind=*/!under_way_.empty());
    PhaseClock& clock = clocks_[static_cast<std::size_t>(step) % kMostUnderWay];
    if (under_way_.empty()) {
      clock.start();
    } else {
      clock.start_behind(*under_way_.back().clock);
    }
    data::Batch batch = loader.next();
    clock.mark(Phase::data_wait);
    step_.start(batch, step, clock);
    under_way_.push_back({std::move(batch), &clock});
  }

  /// Tells whether nobody has to know what comes of the step under way before the next one: see
  /// Note [Steps behind one another].
  [[nodiscard]] bool may_run_ahead() const {
    const std::int64_t step = progress_.step + 1;
    return step_.is_replaying() && stop_signal_ == 0 && !drill_ && step < parts_.plan.steps &&
           !is_anything_due(step, under_way_.front().batch) && profile_.lets_next_begin_in(step);
  }

  /// The same of what after_step() does.
  [[nodiscard]] bool is_anything_due(std::int64_t step, const data::Batch& batch) const {
    return is_evaluation_due(step, ends_epoch(batch)) || sync_check_.is_due(step, /*last=*/false) ||
           (checkpointer_ && checkpointer_->is_due(step));
  }

  [[nodiscard]] bool is_evaluation_due(std::int64_t step, bool epoch_ended) const {
    const std::int64_t every = options_.train.evaluate_every;
    return every > 0 ? step % every == 0 : epoch_ended;
  }

  static bool ends_epoch(const data::Batch& batch) {
    return batch.next.epoch > batch.position.epoch;
  }

  bool end_step() {
    const UnderWay done = std::move(under_way_.front());
    under_way_.pop_front();
    const data::Batch& batch = done.batch;
    // The clock waits for the device, and so knows the moment.
    const StepSpans spans = done.clock->finish();
    if (!under_way_.empty()) under_way_.front().clock->follow(*done.clock);
    const StepResult result = step_.finish();
    ++progress_.step;
    if (hooks_.progress) hooks_.progress(progress_.step);
    const auto account = profile_.account(progress_.step, spans);
    progress_.position = batch.next;
    progress_.items += result.targets;
    progress_.evaluation_loss.reset();
    epoch_ = batch.position.epoch;
    epoch_ended_ = ends_epoch(batch);
    record(result,
           batch,
           account.value_or(profile::Account{}),
           account ? account->times.total() : std::chrono::nanoseconds(spans.window.length()));
    if (stop_signal_ == 0) stop_signal_ = result.stop_signal;
    return !under_way_.empty() || !interrupted_by(stop_signal_);
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
    if (is_evaluation_due(progress_.step, epoch_ended_) && !last) judge();
    compare_weights(last);
    if (!last) save(false);
    write_traces(last);
  }

  void compare_weights(bool last) {
    if (drill_) drill_->disturb_weights(parts_.state);
    if (!sync_check_.is_due(progress_.step, last)) return;
    const Clock::time_point began = Clock::now();
    const auto found = sync_check_.find_difference(progress_.step);
    add_pause(began);
    if (!found) return;
    // Where it happens again after the run went back for it, it would do so for ever.
    const bool again = std::exchange(out_of_sync_at_, progress_.step) == progress_.step;
    if (options_.fault.out_of_sync == OnOutOfSync::rollback && !again) throw RollBack(*found);
    throw Diverged(*found);
  }

  /// Time with a step under way is that step's.
  void add_pause(Clock::time_point began) {
    if (under_way_.empty()) tracker_->add_pause(Clock::now() - began);
  }

  void write_traces(bool run_ends) {
    const Clock::time_point began = Clock::now();
    profile_.after_step(progress_.step, run_ends);
    add_pause(began);
  }

  void save(bool last) {
    if (!checkpointer_) return;
    const Clock::time_point began = Clock::now();
    checkpointer_->step_done(progress_, last);
    add_pause(began);
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
    add_pause(began);
    const std::string text = options_.train.sample_prompt + tokenizer.decode(tokens);
    tell([&](Sink& sink) { sink.sample(progress_.step, text); });
  }

  void write_model() {
    const Clock::time_point began = Clock::now();
    export_model(options_, parts_);
    add_pause(began);
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
  std::array<PhaseClock, kMostUnderWay> clocks_;
  /// Steps that were given to the device, oldest first.
  std::deque<UnderWay> under_way_;
  /// The signal that ends the run when they are done; 0: none.
  int stop_signal_ = 0;
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
    on_stream.reset_stream(comm::priority_stream(device, comm::StreamPriority::first));
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
