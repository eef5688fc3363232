#include "sheaf/checkpoint/saver.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <future>
#include <utility>

#include "checkpoint/host_copy.h"
#include "checkpoint/publish.h"
#include "sheaf/checkpoint/agree.h"
#include "sheaf/checkpoint/folder.h"

namespace sheaf::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;
using Pieces = std::vector<WrittenPiece>;

/// What is under way: ranks write, then rank 0 publishes.
enum class Phase { idle, writing, publishing };

template <class Result>
bool is_ready(const std::future<Result>& future) {
  // Deferred work is done by whoever asks for its result.
  return future.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

bool all_ranks(const comm::Group& group, bool value) {
  if (group.size() == 1) return value;
  const auto options = at::TensorOptions(group.device()).dtype(at::kLong);
  const at::Tensor all = at::empty({1}, options).fill_(value ? 1 : 0);
  group.all_reduce(all, {.reduction = comm::Reduction::min, .purpose = comm::Purpose::control})
      .wait();
  return all.item<std::int64_t>() == 1;
}

bool are_on_gpu(const std::vector<Part>& parts) {
  return std::ranges::any_of(parts, [](const Part& part) { return part.values.is_cuda(); });
}

constexpr std::int64_t kColumns = 4;

at::Tensor as_rows(const Pieces& pieces, std::int64_t rows) {
  at::Tensor table = at::zeros({rows, kColumns}, at::kLong);
  auto* row = table.mutable_data_ptr<std::int64_t>();
  for (const WrittenPiece& each : pieces) {
    *row++ = static_cast<std::int64_t>(each.tensor);
    *row++ = each.piece.begin;
    *row++ = each.piece.count;
    *row++ = std::bit_cast<std::int64_t>(each.piece.hash);
  }
  return table;
}

Pieces from_rows(const std::int64_t* row, std::int64_t rows) {
  Pieces pieces;
  pieces.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i, row += kColumns) {
    pieces.push_back(
        {static_cast<std::size_t>(row[0]), {row[1], row[2], std::bit_cast<std::uint64_t>(row[3])}});
  }
  return pieces;
}

/// Returns every rank's pieces, in rank order.
std::vector<Pieces> gather(const comm::Group& group, const Pieces& own) {
  if (group.size() == 1) return {own};
  const auto options = at::TensorOptions(group.device()).dtype(at::kLong);
  const at::Tensor size = at::empty({1}, options).fill_(static_cast<std::int64_t>(own.size()));
  const at::Tensor sizes = at::empty({group.size()}, options);
  group.all_gather(sizes, size, {.purpose = comm::Purpose::control}).wait();
  const at::Tensor counts = sizes.cpu();
  const auto most = counts.max().item<std::int64_t>();
  const at::Tensor all = at::empty({group.size() * most, kColumns}, options);
  const at::Tensor rows = as_rows(own, most).to(group.device());
  group.all_gather(all, rows, {.purpose = comm::Purpose::control}).wait();
  const at::Tensor back = all.cpu();
  std::vector<Pieces> pieces;
  pieces.reserve(static_cast<std::size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank) {
    pieces.push_back(from_rows(back.const_data_ptr<std::int64_t>() + rank * most * kColumns,
                               counts.const_data_ptr<std::int64_t>()[rank]));
  }
  return pieces;
}

}  // namespace

struct Saver::Impl {
  explicit Impl(SaverOptions given)
      : options(std::move(given)),
        disk(options.disk ? options.disk : std::make_shared<Disk>()),
        policy(options.asynchronous ? std::launch::async : std::launch::deferred) {}

  [[nodiscard]] bool is_first() const { return options.group.rank() == 0; }
  [[nodiscard]] std::string place() const { return path_of_step(options.folder, contents.step); }
  [[nodiscard]] std::string unfinished() const { return place() + std::string(kUnfinished); }

  void start(Contents given, const std::vector<Part>& given_parts) {
    TORCH_INTERNAL_ASSERT(phase == Phase::idle);
    began = Clock::now();
    contents = std::move(given);
    bool copies_now = false;
    guarded([&] {
      plan.emplace(contents, options.group.size(), options.smallest_file);
      together(options.group, [&] {
        // Before anything is copied: a copy would not show what was wrong with the original.
        check_parts(*plan, given_parts);
        if (is_first()) make_folder();
      });
      together(options.group, [&] {
        files = make_files(*plan, unfinished(), options.group.rank(), *disk);
        parts = given_parts;
        // A GPU is asked for its values by the thread that computes on it.
        copies_now = options.asynchronous && are_on_gpu(parts);
        if (copies_now) parts = copy.take(parts);
      });
    });
    phase = Phase::writing;
    const bool copies_later = options.asynchronous && !copies_now;
    std::promise<void> copied;
    secured = copied.get_future();
    writing = std::async(policy, [this, copies_later, copied = std::move(copied)]() mutable {
      const auto failure = attempt([&] {
        if (copies_later) parts = copy.take(parts);
      });
      copied.set_value();
      if (failure) std::rethrow_exception(failure);
      return write_parts(*plan, unfinished(), parts, files, *disk, writers());
    });
  }

  /// While training waits, one more thread copies to the system's memory as the other hashes. A
  /// save beside training leaves the cores to it, and a GPU is asked by one thread.
  [[nodiscard]] int writers() const { return options.asynchronous || are_on_gpu(parts) ? 1 : 2; }

  void secure() {
    if (phase != Phase::writing) return;
    if (options.asynchronous) {
      secured.wait();
    } else {
      // Nobody copies, so the values are written by this.
      writing.wait();
    }
  }

  void make_folder() {
    disk->remove(unfinished());
    disk->make_folder(unfinished());
  }

  std::optional<Saved> advance(bool wait) {
    if (phase == Phase::writing && (wait || all_ranks(options.group, is_ready(writing)))) {
      guarded([&] { end_writing(); });
    }
    if (phase != Phase::publishing) return std::nullopt;
    if (!wait && !all_ranks(options.group, is_ready(publishing))) return std::nullopt;
    guarded([&] { end_publishing(); });
    Saved saved{contents.step, place(), plan->bytes(), Clock::now() - began};
    clear();
    return saved;
  }

  void end_publishing() {
    together(options.group, [&] { publishing.get(); });
  }

  void end_writing() {
    Pieces own;
    const std::exception_ptr error = attempt([&] { own = writing.get(); });
    files.clear();
    parts.clear();
    agree(options.group, error);
    pieces = gather(options.group, own);
    phase = Phase::publishing;
    publishing = std::async(policy, [this] {
      if (!is_first()) return;
      publish(options.folder, contents, *plan, pieces, *disk);
      if (options.published) options.published(contents.step);
    });
  }

  /// Does `work`, in which all ranks fail together, and cleans up if they do.
  void guarded(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      clear();
      // As far as the disk lets it; the next start removes it otherwise.
      if (is_first()) static_cast<void>(attempt([&] { disk->remove(unfinished()); }));
      throw;
    }
  }

  void clear() {
    phase = Phase::idle;
    files.clear();
    parts.clear();
    pieces.clear();
  }

  SaverOptions options;
  std::shared_ptr<Disk> disk;
  std::launch policy;
  Phase phase = Phase::idle;
  Clock::time_point began;
  Contents contents;
  std::optional<FolderPlan> plan;
  HostCopy copy;
  OpenFiles files;
  std::vector<Part> parts;
  std::vector<Pieces> pieces;
  // Last, so that their threads end before what they use goes.
  std::future<void> secured;
  std::future<Pieces> writing;
  std::future<void> publishing;
};

Saver::Saver(SaverOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Saver::~Saver() = default;

bool Saver::busy() const { return impl_->phase != Phase::idle; }

void Saver::start(Contents contents, const std::vector<Part>& parts) {
  impl_->start(std::move(contents), parts);
}

void Saver::secure() { impl_->secure(); }

std::optional<Saved> Saver::poll() { return impl_->advance(/*wait=*/false); }

std::optional<Saved> Saver::wait() { return impl_->advance(/*wait=*/true); }

}  // namespace sheaf::checkpoint
