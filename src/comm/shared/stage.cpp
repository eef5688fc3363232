#include "stage.h"

#include <algorithm>
#include <cstring>

#include "../reduce_kernel.h"

namespace sheaf::comm::shared {
namespace {

constexpr std::size_t kCacheLine = 64;

/// Returns how many bytes of the slot each rank gets when it is cut into one piece per rank.
std::size_t piece_bytes(const Stage& stage) {
  return stage.slot_bytes() / static_cast<std::size_t>(stage.num_ranks()) / kCacheLine * kCacheLine;
}

/// Returns a pointer into every rank's slot.
std::vector<const std::byte*> slots_at(const Stage& stage, std::size_t offset) {
  std::vector<const std::byte*> pointers;
  for (int r = 0; r < stage.num_ranks(); ++r) pointers.push_back(stage.slot(r) + offset);
  return pointers;
}

/// Returns how much of `run` falls into a turn that begins after `done`.
std::int64_t left(const Run& run, std::int64_t done, std::int64_t per_turn) {
  return std::clamp<std::int64_t>(run.count - done, 0, per_turn);
}

std::int64_t longest(const std::vector<Run>& runs) {
  std::int64_t most = 0;
  for (const Run& run : runs) most = std::max(most, run.count);
  return most;
}

}  // namespace

Run share_of(std::int64_t count, std::size_t width, int rank, int num_ranks) {
  const auto line = static_cast<std::int64_t>(kCacheLine / width);
  const std::int64_t lines = (count + line - 1) / line;
  const std::int64_t begin = std::min(count, lines * rank / num_ranks * line);
  const std::int64_t end = std::min(count, lines * (rank + 1) / num_ranks * line);
  return {begin, end - begin};
}

std::vector<Run> shares_of(std::int64_t count, std::size_t width, int num_ranks) {
  std::vector<Run> shares;
  for (int r = 0; r < num_ranks; ++r) shares.push_back(share_of(count, width, r, num_ranks));
  return shares;
}

std::vector<Run> equal_parts(std::int64_t part, int num_ranks) {
  std::vector<Run> parts;
  for (int r = 0; r < num_ranks; ++r) parts.push_back({r * part, part});
  return parts;
}

/// A reduce-scatter of even shares, then an all-gather: one barrier per turn of the slots.
void staged_all_reduce(Stage& stage, const Elements& elements, Reduce how) {
  std::vector<Run> shares = shares_of(elements.count, elements.width(), stage.num_ranks());
  const auto width = static_cast<std::int64_t>(elements.width());
  std::byte* own = elements.data + shares[static_cast<std::size_t>(stage.rank())].begin * width;
  staged_reduce_scatter(stage, own, elements, shares, how);
  for (Run& share : shares) share = {share.begin * width, share.count * width};
  staged_all_gather(stage, elements.data, own, shares);
}

void staged_reduce_scatter(Stage& stage,
                           std::byte* output,
                           const Elements& input,
                           const std::vector<Run>& parts,
                           Reduce how) {
  const auto width = static_cast<std::int64_t>(input.width());
  const auto piece = static_cast<std::int64_t>(piece_bytes(stage)) / width;
  const Run own = parts[static_cast<std::size_t>(stage.rank())];
  for (std::int64_t done = 0; done < longest(parts); done += piece) {
    for (int r = 0; r < stage.num_ranks(); ++r) {
      if (r == stage.rank()) continue;  // nobody else reads it
      const Run& run = parts[static_cast<std::size_t>(r)];
      copy_bytes(stage.slot(stage.rank()) + r * piece * width,
                 input.data + (run.begin + done) * width,
                 static_cast<std::size_t>(left(run, done, piece) * width));
    }
    stage.arrive(Kind::reduce_scatter);
    std::vector<const std::byte*> shown =
        slots_at(stage, static_cast<std::size_t>(stage.rank() * piece * width));
    shown[static_cast<std::size_t>(stage.rank())] = input.data + (own.begin + done) * width;
    std::byte* const result = output + done * width;
    reduce({&result, 1}, shown, left(own, done, piece), input.dtype, how);
    stage.next_turn();
  }
}

void staged_all_gather(Stage& stage,
                       std::byte* output,
                       const std::byte* input,
                       const std::vector<Run>& parts) {
  const auto per_turn = static_cast<std::int64_t>(stage.slot_bytes());
  const Run own = parts[static_cast<std::size_t>(stage.rank())];
  for (std::int64_t done = 0; done < longest(parts); done += per_turn) {
    const auto own_bytes = static_cast<std::size_t>(left(own, done, per_turn));
    copy_bytes(stage.slot(stage.rank()), input + done, own_bytes);
    stage.arrive(Kind::all_gather);
    for (int r = 0; r < stage.num_ranks(); ++r) {
      const Run& run = parts[static_cast<std::size_t>(r)];
      const std::byte* from = r == stage.rank() ? input + done : stage.slot(r);
      copy_bytes(
          output + run.begin + done, from, static_cast<std::size_t>(left(run, done, per_turn)));
    }
    stage.next_turn();
  }
}

void staged_broadcast(Stage& stage, std::byte* data, std::size_t total, int root) {
  for (std::size_t done = 0; done < total; done += stage.slot_bytes()) {
    const std::size_t bytes = std::min(stage.slot_bytes(), total - done);
    if (stage.rank() == root) copy_bytes(stage.slot(root), data + done, bytes);
    stage.arrive(Kind::broadcast);
    if (stage.rank() != root) copy_bytes(data + done, stage.slot(root), bytes);
    stage.next_turn();
  }
}

void staged_all_to_all(Stage& stage,
                       std::byte* output,
                       const std::byte* input,
                       const Routes& routes) {
  const auto piece = static_cast<std::int64_t>(piece_bytes(stage));
  for (std::int64_t done = 0; done < routes.longest; done += piece) {
    for (int r = 0; r < stage.num_ranks(); ++r) {
      const Run& run = routes.input[static_cast<std::size_t>(r)];
      copy_bytes(stage.slot(stage.rank()) + r * piece,
                 input + run.begin + done,
                 static_cast<std::size_t>(left(run, done, piece)));
    }
    stage.arrive(Kind::all_to_all);
    for (int r = 0; r < stage.num_ranks(); ++r) {
      const Run& run = routes.output[static_cast<std::size_t>(r)];
      copy_bytes(output + run.begin + done,
                 stage.slot(r) + stage.rank() * piece,
                 static_cast<std::size_t>(left(run, done, piece)));
    }
    stage.next_turn();
  }
}

}  // namespace sheaf::comm::shared
