#include "train/run_checkpointer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>

#include "checkpoint/json_object.h"
#include "export.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/checkpoint/agree.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/manifest.h"
#include "sheaf/checkpoint/restore.h"
#include "sheaf/checkpoint/saver.h"
#include "sheaf/hub/folder_writer.h"
#include "train/run_record.h"
#include "train/saved_tensors.h"

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;
using checkpoint::TextFile;

constexpr std::string_view kArea = "checkpoint";

/// Returns what makes a folder with weights a model of Hugging Face's; nothing for a model that
/// they do not have.
std::vector<TextFile> texts_of(const RunOptions& options, const Assembly& parts) {
  std::vector<TextFile> texts;
  if (!parts.shape.is_language_model()) return texts;
  texts.push_back({"config.json", config_of(options, parts.shape)});
  for (const auto& [name, text] : tokenizer_files_of(options, parts.data)) {
    texts.push_back({name, text});
  }
  if (options.model.from.empty()) return texts;
  for (const std::string& path : hub::companions_in(options.model.from)) {
    texts.push_back({fs::path(path).filename(), checkpoint::read_text(path)});
  }
  return texts;
}

class RunCheckpointer final : public Checkpointer {
 public:
  RunCheckpointer(const RunOptions& options,
                  const Assembly& parts,
                  std::shared_ptr<checkpoint::Disk> disk)
      : options_(options),
        section_(options.checkpoint),
        parts_(parts),
        group_(parts.mesh.world()),
        disk_(disk ? std::move(disk) : std::make_shared<checkpoint::Disk>()),
        saver_({.folder = section_.dir,
                .group = group_,
                .asynchronous = section_.asynchronous,
                .published = [this](std::int64_t step) { remove_old(step); },
                .disk = disk_}) {
    checkpoint::together(group_, [&] {
      if (!is_first()) return;
      lock_.emplace(section_.dir);
      checkpoint::remove_leftovers(section_.dir);
      texts_ = texts_of(options_, parts_);
      refuse_others();
    });
  }

  bool restore(TrainingState& state) override {
    newest_ = checkpoint::restore_newest(
        section_.dir, group_, [&](const checkpoint::Reader& reader) { load(reader, state); });
    if (newest_ && is_first()) {
      log::info(kArea,
                fmt::format("going on from {}", checkpoint::path_of_step(section_.dir, *newest_)));
    }
    return newest_.has_value();
  }

  void before_update() override { saver_.secure(); }

  [[nodiscard]] bool is_due(std::int64_t step) const override {
    return section_.every > 0 && step % section_.every == 0;
  }

  void step_done(const TrainingState& state, bool last) override {
    if (last) {
      finish();
    } else {
      report([&] { settle(/*wait=*/false); });
    }
    if (!(last || is_due(state.step)) || state.step == 0 || state.step == newest_) return;
    if (last) return save_end(state);
    if (saver_.busy() && !make_room(state.step)) return;
    report([&] {
      start(state);
      settle(!section_.asynchronous);
    });
  }

  void finish() override {
    try {
      settle(/*wait=*/true);
    } catch (const CommError&) {
      throw;
    } catch (const Error& error) {
      warn("a checkpoint could not be saved", error);
    }
  }

 private:
  [[nodiscard]] bool is_first() const { return group_.rank() == 0; }

  void refuse_others() const {
    if (section_.resume || checkpoint::steps_in(section_.dir).empty()) return;
    throw UsageError(
        fmt::format("checkpoint.resume is false, but checkpoint.dir holds checkpoints: take "
                    "another folder than {}",
                    section_.dir));
  }

  void load(const checkpoint::Reader& reader, TrainingState& state) const {
    const std::string& record = reader.manifest().run;
    try {
      check_fits(reader, state);
      apply_record(record, parts_, state);
    } catch (const UsageError& error) {
      std::rethrow_exception(error.with_prefix(reader.path() + " cannot be resumed: "));
    }
    load_tensors(reader, state);
    const std::vector<std::string> changes = changed_options(record, options_);
    if (changes.empty() || !is_first()) return;
    log::info(kArea, fmt::format("other options than before: {}", fmt::join(changes, ", ")));
  }

  void start(const TrainingState& state) {
    SavedTensors tensors = saved_tensors(state, is_first());
    saver_.start({.step = state.step,
                  .weights = std::move(tensors.weights),
                  .state = std::move(tensors.state),
                  .texts = texts_,
                  .mesh = parts_.mesh.shape().axes(),
                  .run = run_record(options_, parts_, state)},
                 tensors.parts);
  }

  /// No later step makes up for this one, so it is an error whatever the options say.
  void save_end(const TrainingState& state) {
    try {
      start(state);
      settle(/*wait=*/true);
    } catch (const IoError& error) {
      std::rethrow_exception(error.with_prefix(fmt::format(
          "the end of the run could not be saved, the newest checkpoint is {}: ", newest_name())));
    }
  }

  /// Ends what can be ended, or, with `wait`, all that is under way.
  void settle(bool wait) {
    const auto saved = wait ? saver_.wait() : saver_.poll();
    if (!saved) return;
    newest_ = saved->step;
    if (!is_first()) return;
    log::info(
        kArea,
        fmt::format("{}: {} in {}", saved->path, to_string(saved->bytes), to_string(saved->time)));
  }

  /// Returns false if this step is to go without.
  bool make_room(std::int64_t step) {
    if (section_.busy == WhenBusy::wait) {
      report([&] { settle(/*wait=*/true); });
      return true;
    }
    if (is_first()) {
      log::info(kArea,
                fmt::format("step {} is not saved: the one before is still being written", step));
    }
    return false;
  }

  /// Does `work`, in which all ranks fail together, and says what that means for the run.
  template <class Work>
  void report(const Work& work) {
    try {
      work();
    } catch (const CommError&) {
      throw;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (section_.on_error == OnSaveError::stop) throw;
      warn("a checkpoint could not be saved, training goes on", error);
    }
  }

  void warn(const char* what, const Error& error) const {
    if (!is_first()) return;
    log::warning(kArea, fmt::format("{}; the newest is {}: {}", what, newest_name(), error.what()));
  }

  [[nodiscard]] std::string newest_name() const {
    return newest_ ? checkpoint::name_of_step(*newest_) : "none";
  }

  /// May run on another thread. `newest` has just been saved; what has a later number is not of
  /// this run, and must not push it out.
  void remove_old(std::int64_t newest) const {
    const auto error = checkpoint::attempt([&] {
      std::vector<checkpoint::Scored> all;
      for (const std::int64_t step : checkpoint::steps_in(section_.dir)) {
        if (step > newest) continue;
        if (const auto ranked = with_score(step)) all.push_back(*ranked);
      }
      for (const std::int64_t step : checkpoint::steps_to_remove(
               all,
               {.last = section_.keep, .every = section_.keep_every, .best = section_.keep_best})) {
        checkpoint::remove_checkpoint(section_.dir, step, *disk_);
      }
    });
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& reason) {
      log::warning(kArea, fmt::format("old checkpoints stay: {}", reason.what()));
    }
  }

  /// Returns nothing for a checkpoint that another sheaf has to judge.
  [[nodiscard]] std::optional<checkpoint::Scored> with_score(std::int64_t step) const {
    checkpoint::Scored scored{.step = step, .score = std::nullopt};
    try {
      const fs::path folder = checkpoint::path_of_step(section_.dir, step);
      const std::string text = checkpoint::read_text(folder / checkpoint::kManifestName);
      scored.score = saved_evaluation(checkpoint::parse_manifest(text).run);
    } catch (const checkpoint::UnknownVersion&) {
      return std::nullopt;
    } catch (const std::exception&) {
      // One that cannot be read has no score; whether it is damaged is found out elsewhere.
    }
    return scored;
  }

  const RunOptions& options_;
  const CheckpointSection& section_;
  const Assembly& parts_;
  comm::Group group_;
  /// Rank 0's, as are the texts.
  std::optional<checkpoint::FolderLock> lock_;
  std::vector<TextFile> texts_;
  /// The last step that was saved or restored.
  std::optional<std::int64_t> newest_;
  std::shared_ptr<checkpoint::Disk> disk_;
  // Last, so that its threads end before what they use goes.
  checkpoint::Saver saver_;
};

}  // namespace

std::shared_ptr<Checkpointer> make_checkpointer(const RunOptions& options,
                                                const Assembly& parts,
                                                std::shared_ptr<checkpoint::Disk> disk) {
  if (options.checkpoint.dir.empty()) return nullptr;
  return std::make_shared<RunCheckpointer>(options, parts, std::move(disk));
}

}  // namespace sheaf::train
