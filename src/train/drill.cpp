#include "train/drill.h"

#include <ATen/ops/bitwise_xor.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "checkpoint/disk.h"
#include "comm/environment.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/checkpoint/folder.h"
#include "train/append_file.h"
#include "train/injected_fault.h"

namespace sheaf::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kArea = "drill";
// A bit of the mantissa that changes a weight by some percent, and one of the exponent that makes
// a gradient huge.
constexpr int kWeightBit = 20;
constexpr int kGradientBit = 30;

/// Flips one bit of the first element.
void flip_bit(const at::Tensor& values, int bit) {
  const at::Tensor first = values.view({-1}).narrow(0, 0, 1);
  const at::ScalarType whole = values.element_size() == 2 ? at::kShort : at::kInt;
  const at::Tensor bits = first.view(whole);
  const std::int64_t place = bit % (8 * values.element_size());
  bits.copy_(at::bitwise_xor(bits, static_cast<std::int64_t>(1) << place));
}

fs::path largest_file(const fs::path& folder) {
  fs::path largest;
  std::uintmax_t most = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() < most) continue;
    most = entry.file_size();
    largest = entry.path();
  }
  return largest;
}

void flip_in_file(const fs::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(path) / 2);
  file.seekg(middle);
  const int byte = file.get();
  file.seekp(middle);
  file.put(static_cast<char>(byte ^ 1));
}

}  // namespace

struct Drill::State {
  std::vector<InjectedFault> faults;
  DrillOptions options;
  std::atomic<std::int64_t> step{0};
  std::mutex mutex;
  /// Texts of faults that have happened in this process.
  std::vector<std::string> happened;

  [[nodiscard]] fs::path marks() const { return fs::path(options.folder) / "faults-done.txt"; }

  void read_marks() {
    if (options.folder.empty()) return;
    std::ifstream file(marks());
    for (std::string line; std::getline(file, line);) {
      const auto is_this = [&](const InjectedFault& fault) { return fault.text == line; };
      if (std::erase_if(faults, is_this) == 0 || options.rank != 0) continue;
      log::info(kArea, fmt::format("has happened in this run already: {}", line));
    }
  }

  /// Returns the fault of that kind which is to happen now, once, to what has that name; writes
  /// down that it does.
  std::optional<InjectedFault> take(FaultKind kind, std::optional<std::string_view> name = {}) {
    const std::lock_guard lock(mutex);
    for (const InjectedFault& fault : faults) {
      if (fault.kind != kind || !fault.is_on(options.rank, step)) continue;
      if (name && name->find(fault.where) == std::string_view::npos) continue;
      const bool is_new = std::ranges::find(happened, fault.text) == happened.end();
      if (!is_new && !fault.lasts()) continue;
      if (is_new) mark(fault);
      return fault;
    }
    return std::nullopt;
  }

  void mark(const InjectedFault& fault) {
    happened.push_back(fault.text);
    log::warning(kArea, fmt::format("fault at step {}: {}", step.load(), fault.text));
    if (options.folder.empty()) return;
    AppendFile(marks()).write(fault.text + "\n");
  }
};

namespace {

/// A disk that has no room left while the drill says so.
class FullDisk final : public checkpoint::Disk {
 public:
  explicit FullDisk(std::function<bool()> is_full) : is_full_(std::move(is_full)) {}

  void write(const checkpoint::File& file,
             std::uint64_t offset,
             std::span<const std::byte> bytes) override {
    if (is_full_()) {
      throw IoError(fmt::format("cannot write a file (No space left on device): {}", file.path()));
    }
    Disk::write(file, offset, bytes);
  }

 private:
  std::function<bool()> is_full_;
};

}  // namespace

Drill::Drill(const FaultSection& section, DrillOptions options)
    : state_(std::make_shared<State>()) {
  for (const std::string& text : section.inject) state_->faults.push_back(parse_fault(text));
  if (options.generation > 0) state_->faults.clear();
  state_->options = std::move(options);
  state_->read_marks();
}

Drill::~Drill() = default;

void Drill::begin_step(std::int64_t step) {
  state_->step = step;
  if (const auto slow = state_->take(FaultKind::slow)) std::this_thread::sleep_for(slow->time);
  if (state_->take(FaultKind::stop)) ::raise(SIGSTOP);
  if (state_->take(FaultKind::kill)) ::raise(SIGKILL);
}

void Drill::disturb_gradients(optim::SlotSource& slots) {
  const auto flip = state_->take(FaultKind::flip_gradient);
  const auto set = state_->take(FaultKind::set_gradient);
  if (state_->take(FaultKind::negate_gradients)) {
    for (std::size_t s = 0; s < slots.segments().size(); ++s) {
      const at::Tensor gradient = slots.gradient(s);
      if (gradient.defined()) gradient.neg_();
    }
  }
  const auto disturb = [&](const InjectedFault& fault, const auto& change) {
    for (std::size_t s = 0; s < slots.segments().size(); ++s) {
      for (const optim::Slot& slot : slots.segments()[s].slots) {
        if (slot.size == 0 || slot.name.find(fault.where) == std::string::npos) continue;
        const at::Tensor gradient = slots.gradient(s);
        if (gradient.defined()) return change(gradient.narrow(0, slot.offset, slot.size));
      }
    }
  };
  if (flip) {
    disturb(*flip, [&](const at::Tensor& gradient) {
      flip_bit(gradient, flip->bit < 0 ? kGradientBit : flip->bit);
    });
  }
  if (set) {
    disturb(*set, [&](const at::Tensor& gradient) { gradient.narrow(0, 0, 1).fill_(set->value); });
  }
}

void Drill::disturb_weights(const sharding::State& state) {
  const auto fault = state_->take(FaultKind::flip_weight);
  if (!fault) return;
  for (const sharding::Slice& slice : state.kept_slices()) {
    if (slice.values.numel() == 0 || slice.name.find(fault->where) == std::string::npos) continue;
    return flip_bit(slice.values, fault->bit < 0 ? kWeightBit : fault->bit);
  }
}

bool Drill::wants_files() const {
  return std::ranges::any_of(state_->faults, [&](const InjectedFault& fault) {
    const bool is_file =
        fault.kind == FaultKind::flip_file || fault.kind == FaultKind::truncate_file;
    return is_file && fault.step == state_->step;
  });
}

void Drill::damage_files(const std::string& folder) {
  const std::vector<std::int64_t> steps = checkpoint::steps_in(folder);
  if (steps.empty()) return;
  const fs::path newest = checkpoint::path_of_step(folder, std::ranges::max(steps));
  if (state_->take(FaultKind::flip_file)) flip_in_file(largest_file(newest));
  if (state_->take(FaultKind::truncate_file)) {
    const fs::path file = largest_file(newest);
    fs::resize_file(file, fs::file_size(file) / 2);
  }
}

comm::Interference Drill::interference() {
  const auto is_about_calls = [](const InjectedFault& fault) {
    return fault.kind == FaultKind::drop_call || fault.kind == FaultKind::delay_call;
  };
  if (std::ranges::none_of(state_->faults, is_about_calls)) return nullptr;
  return [state = state_](const comm::CallNote& call) {
    comm::Fate fate;
    if (const auto delay = state->take(FaultKind::delay_call, call.unit)) fate.delay = delay->time;
    fate.dropped = state->take(FaultKind::drop_call, call.unit).has_value();
    return fate;
  };
}

std::shared_ptr<checkpoint::Disk> Drill::disk() {
  const auto is_disk = [](const InjectedFault& fault) {
    return fault.kind == FaultKind::full_disk;
  };
  if (std::ranges::none_of(state_->faults, is_disk)) return nullptr;
  return std::make_shared<FullDisk>(
      [state = state_] { return state->take(FaultKind::full_disk).has_value(); });
}

DrillOptions drill_options(const RunOptions& options, int rank) {
  const std::string generation = comm::process_variable("SHEAF_GENERATION").value_or("");
  int number = 0;
  std::from_chars(generation.data(), generation.data() + generation.size(), number);
  return {.rank = rank,
          .generation = number,
          .folder = options.log.dir.empty() ? options.checkpoint.dir : options.log.dir};
}

std::shared_ptr<Drill> make_drill(const FaultSection& section, const DrillOptions& options) {
  if (section.inject.empty()) return nullptr;
  return std::make_shared<Drill>(section, options);
}

}  // namespace sheaf::train
