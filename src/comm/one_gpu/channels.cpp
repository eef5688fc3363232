#include "channels.h"

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>
#include <exception>
#include <string>

#include "kernels.h"
#include "marks.h"
#include "sheaf/base/log.h"

namespace sheaf::comm::one_gpu {
namespace {

constexpr std::size_t kCellBytes = std::size_t{512} << 10;
constexpr std::uint32_t kCells = 2;

std::size_t block_bytes(int num_ranks) {
  return kCellBytes * kCells * static_cast<std::size_t>(num_ranks);
}

/// Calls `move(data, bytes)` for pieces that fit into a cell.
template <class Move>
void for_each_piece(const at::Tensor& tensor, Move move) {
  auto* data = static_cast<std::byte*>(tensor.data_ptr());
  for (std::size_t begin = 0; begin < tensor.nbytes(); begin += kCellBytes) {
    move(data + begin, static_cast<std::int64_t>(std::min(kCellBytes, tensor.nbytes() - begin)));
  }
}

void copy(const Copy& copy, void* stream) {
  Copies copies;
  copies.add(copy);
  launch_copies(copies, stream);
}

}  // namespace

Channels::Channels(Backend& host,
                   const Members& members,
                   at::Device device,
                   std::shared_ptr<Words> words,
                   Watch& watch)
    : members_(members),
      device_(device),
      words_(std::move(words)),
      watch_(watch),
      blocks_(host, members, device, block_bytes(members.size())),
      to_(static_cast<std::size_t>(members.size())),
      from_(static_cast<std::size_t>(members.size())) {}

Channels::~Channels() {
  for (int r = 0; r < members_.size(); ++r) {
    watch_.wait_for_reader(r, to_[static_cast<std::size_t>(r)].count);
  }
  try {
    for (const auto* side : {&to_, &from_}) {
      for (const Channel& channel : *side) {
        if (channel.last.isCreated()) channel.last.synchronize();
      }
    }
  } catch (const std::exception& error) {
    log::warning("comm", std::string("the GPU's work could not be waited for: ") + error.what());
  }
}

std::byte* Channels::cell(int from, int to, std::uint32_t number) const {
  const auto place = static_cast<std::size_t>(to) * kCells + number % kCells;
  return blocks_.of(from) + place * kCellBytes;
}

void Channels::send(const at::Tensor& tensor, int to) {
  watch_.check();
  Channel& channel = to_[static_cast<std::size_t>(to)];
  const auto stream = at::cuda::getCurrentCUDAStream(device_.index());
  if (channel.last.isCreated()) channel.last.block(stream);
  for_each_piece(tensor, [&](std::byte* data, std::int64_t bytes) {
    Marks emptied;
    emptied.wait(words_->on_device(Topic::received, members_.rank, to), channel.count + 1 - kCells);
    emptied.issue(stream.stream());
    copy({data, cell(members_.rank, to, channel.count), bytes}, stream.stream());
    ++channel.count;
    watch_.expect(Topic::sent, to, channel.count, Kind::send);
    Marks filled;
    filled.write(words_->on_device(Topic::sent, to, members_.rank), channel.count);
    filled.issue(stream.stream());
  });
  channel.last.record(stream);
}

void Channels::recv(const at::Tensor& tensor, int from) {
  watch_.check();
  Channel& channel = from_[static_cast<std::size_t>(from)];
  const auto stream = at::cuda::getCurrentCUDAStream(device_.index());
  if (channel.last.isCreated()) channel.last.block(stream);
  for_each_piece(tensor, [&](std::byte* data, std::int64_t bytes) {
    const std::uint32_t number = channel.count++;
    watch_.expect(Topic::received, from, channel.count, Kind::recv);
    Marks filled;
    filled.wait(words_->on_device(Topic::sent, members_.rank, from), channel.count);
    filled.issue(stream.stream());
    copy({cell(from, members_.rank, number), data, bytes}, stream.stream());
    Marks emptied;
    emptied.write(words_->on_device(Topic::received, from, members_.rank), channel.count);
    emptied.issue(stream.stream());
  });
  channel.last.record(stream);
}

}  // namespace sheaf::comm::one_gpu
