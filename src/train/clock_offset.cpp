#include "clock_offset.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <fstream>
#include <limits>

#include "comm/texts.h"
#include "sheaf/base/recorder.h"

namespace sheaf::train {
namespace {

constexpr int kRounds = 16;

void send(const comm::Group& group, int to, std::int64_t value) {
  const auto options = at::TensorOptions(group.device()).dtype(at::kLong);
  group.send(at::full({1}, value, options), to, {.purpose = comm::Purpose::control}).wait();
}

std::int64_t receive(const comm::Group& group, int from) {
  const at::Tensor value = at::empty({1}, at::TensorOptions(group.device()).dtype(at::kLong));
  group.recv(value, from, {.purpose = comm::Purpose::control}).wait();
  return value.cpu().item<std::int64_t>();
}

void answer(const comm::Group& group, int rank, const ClockPlace& clock) {
  for (int round = 0; round < kRounds; ++round) {
    static_cast<void>(receive(group, rank));
    send(group, rank, clock.now());
  }
}

std::int64_t ask(const comm::Group& group, const ClockPlace& clock) {
  std::int64_t offset = 0;
  std::int64_t quickest = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t asked = clock.now();
    send(group, 0, round);
    const std::int64_t theirs = receive(group, 0);
    const std::int64_t took = clock.now() - asked;
    if (took >= quickest) continue;
    quickest = took;
    offset = asked + took / 2 - theirs;
  }
  return offset;
}

}  // namespace

ClockPlace own_clock() {
  // New at every start of the kernel, whose clock it is.
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return {.host = id, .now = &Recorder::now};
}

std::int64_t clock_offset(const comm::Group& group, const ClockPlace& clock) {
  const std::vector<std::string> hosts = comm::gather_texts(group, clock.host);
  std::int64_t offset = 0;
  for (int rank = 1; rank < group.size(); ++rank) {
    if (hosts[static_cast<std::size_t>(rank)] == hosts.front()) continue;
    if (group.rank() == 0) answer(group, rank, clock);
    if (group.rank() == rank) offset = ask(group, clock);
  }
  return offset;
}

}  // namespace sheaf::train
