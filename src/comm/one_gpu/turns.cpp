#include "turns.h"

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <string>

#include "marks.h"
#include "sheaf/base/log.h"

namespace sheaf::comm::one_gpu {
namespace {

// Slots begin small, since some groups only exchange a few numbers, and grow with what goes through
// them; beyond the largest, data goes in several turns.
constexpr std::size_t kSmallestSlot = std::size_t{64} << 10;

/// Who reduces all of something keeps all of it, so a larger slot is little beside it.
std::size_t largest_slot(Kind kind) {
  return kind == Kind::all_reduce ? std::size_t{64} << 20 : std::size_t{32} << 20;
}

}  // namespace

Turns::Turns(Backend& host,
             const Members& members,
             at::Device device,
             std::shared_ptr<Words> words,
             Watch& watch)
    : host_(host), members_(members), device_(device), words_(std::move(words)), watch_(watch) {
  blocks_.emplace(host_, members_, device_, 2 * kSmallestSlot);
}

Turns::~Turns() {
  try {
    wait_until_unused();
  } catch (const std::exception& error) {
    log::warning("comm", std::string("the GPU's work could not be waited for: ") + error.what());
  }
}

void Turns::wait_until_unused() {
  watch_.wait_until_idle();
  if (last_.isCreated()) last_.synchronize();
}

std::byte* Turns::slot(int rank) const { return blocks_->of(rank) + (odd_ ? slot_bytes() : 0); }

void Turns::begin(Kind kind, std::int64_t bytes) {
  watch_.check();
  kind_ = kind;
  const std::size_t wanted =
      std::min(std::bit_ceil(static_cast<std::size_t>(bytes)), largest_slot(kind));
  if (wanted > slot_bytes()) grow(wanted);
  const auto stream = at::cuda::getCurrentCUDAStream(device_.index());
  stream_ = stream.stream();
  if (last_.isCreated()) last_.block(stream);
}

void Turns::end() {
  ++num_calls_;
  Marks marks;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    watch_.expect(Topic::finished, r, num_calls_, kind_);
    marks.write(words_->on_device(Topic::finished, r, rank()), num_calls_);
  }
  marks.issue(stream_);
  last_.record(at::cuda::getCurrentCUDAStream(device_.index()));
}

void Turns::arrive() {
  ++num_turns_;
  Marks marks;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    watch_.expect(Topic::arrived, r, num_turns_, kind_);
    marks.write(words_->on_device(Topic::arrived, r, rank()), num_turns_);
  }
  for (int r = 0; r < size(); ++r) {
    if (r != rank()) marks.wait(words_->on_device(Topic::arrived, rank(), r), num_turns_);
  }
  marks.issue(stream_);
}

/// All ranks come here in the same call, since they see the same sizes; this is the one time when
/// hosts wait for each other.
void Turns::grow(std::size_t slot_bytes) {
  wait_until_unused();
  watch_.check();
  blocks_.reset();
  blocks_.emplace(host_, members_, device_, 2 * slot_bytes);
}

}  // namespace sheaf::comm::one_gpu
