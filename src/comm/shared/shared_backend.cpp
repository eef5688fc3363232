#include "shared_backend.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "../reduce_kernel.h"
#include "common_segment.h"
#include "mailbox.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::shared {
namespace {

// Up to this size everybody copies its data into a slot before the ranks meet, and reads all of it
// after: one barrier in all.
constexpr std::size_t kAtOnce = std::size_t{16} << 10;
constexpr std::size_t kPage = 4096;

std::byte* data_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

Elements elements_of(const at::Tensor& tensor) {
  return {data_of(tensor), tensor.numel(), tensor.scalar_type()};
}

void check_on_cpu(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) {
    throw UsageError(
        fmt::format("the shared backend moves CPU tensors, got one on {}; use gloo or nccl",
                    tensor.device().str()));
  }
}

CallCard make_card(Kind kind, const at::Tensor& tensor, Reduce reduce = {}, int root = 0) {
  check_on_cpu(tensor);
  return {.kind = static_cast<std::uint32_t>(kind),
          .dtype = static_cast<std::uint32_t>(tensor.scalar_type()),
          .reduction = static_cast<std::uint32_t>(reduce.reduction),
          .root = root,
          .bytes = static_cast<std::int64_t>(tensor.nbytes()),
          .scale = reduce.scale,
          .allocation = 0,
          .offset = 0};
}

bool same_call(const CallCard& a, const CallCard& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.reduction == b.reduction && a.root == b.root &&
         a.bytes == b.bytes && a.scale == b.scale;
}

std::string describe(const CallCard& card) {
  std::string text = fmt::format("{} of {} bytes of {}",
                                 name(static_cast<Kind>(card.kind)),
                                 card.bytes,
                                 c10::toString(static_cast<c10::ScalarType>(card.dtype)));
  if (card.root != 0) text += fmt::format(" from rank {}", card.root);
  if (card.reduction != 0 || card.scale != 1.0) {
    text += fmt::format(" (reduction {}, scale {})", card.reduction, card.scale);
  }
  return text;
}

std::vector<Run> runs_of(const std::vector<std::int64_t>& counts, std::size_t width) {
  std::vector<Run> runs;
  std::int64_t begin = 0;
  for (const std::int64_t count : counts) {
    runs.push_back({begin, count * static_cast<std::int64_t>(width)});
    begin += runs.back().count;
  }
  return runs;
}

}  // namespace

SharedBackend::SharedBackend(Ranks ranks, Meeting meeting)
    : ranks_(ranks),
      meeting_(std::move(meeting)),
      stage_(meeting_),
      allocations_(std::make_shared<Allocations>(ranks, rank())) {}

void SharedBackend::all_reduce(const at::Tensor& tensor, Reduce how) {
  check_reducible(tensor.scalar_type());
  const Elements elements = elements_of(tensor);
  const CallCard card = make_card(Kind::all_reduce, tensor, how);
  if (fits_at_once(elements.bytes())) {
    show_at_once(card, elements.data, elements.bytes());
    std::byte* const result = elements.data;
    reduce({&result, 1}, slots_of_all(), elements.count, elements.dtype, how);
    return stage_.next_turn();
  }
  agree(card, elements.data);
  if (all_reachable()) return all_reduce_directly(elements, how);
  staged_all_reduce(stage_, elements, how);
}

void SharedBackend::all_reduce_directly(const Elements& elements, Reduce how) {
  // Only this rank touches its share, in any rank's tensor, so it can write the result everywhere.
  const Run own = share_of(elements.count, elements.width(), rank(), size());
  const std::vector<std::byte*> all =
      data_of_all(static_cast<std::size_t>(own.begin) * elements.width());
  reduce(all,
         {const_cast<const std::byte* const*>(all.data()), all.size()},
         own.count,
         elements.dtype,
         how);
  finish_reading(Kind::all_reduce);
}

void SharedBackend::all_gather(const at::Tensor& output, const at::Tensor& input) {
  const CallCard card = make_card(Kind::all_gather, input);
  const std::size_t part = input.nbytes();
  if (fits_at_once(part)) {
    show_at_once(card, data_of(input), part);
    const std::vector<const std::byte*> slots = slots_of_all();
    for (std::size_t r = 0; r < slots.size(); ++r) {
      copy_bytes(data_of(output) + r * part, slots[r], part);
    }
    return stage_.next_turn();
  }
  agree(card, data_of(input));
  if (!all_reachable()) {
    const auto parts = equal_parts(static_cast<std::int64_t>(part), size());
    return staged_all_gather(stage_, data_of(output), data_of(input), parts);
  }
  const std::vector<std::byte*> all = data_of_all(0);
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::byte* to = data_of(output) + r * part;
    copy_bytes(to, all[r], part);
  }
  finish_reading(Kind::all_gather);
}

void SharedBackend::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce how) {
  check_reducible(input.scalar_type());
  agree(make_card(Kind::reduce_scatter, input, how), data_of(input));
  if (!all_reachable()) {
    const auto parts = equal_parts(output.numel(), size());
    return staged_reduce_scatter(stage_, data_of(output), elements_of(input), parts, how);
  }
  const std::vector<std::byte*> all =
      data_of_all(output.nbytes() * static_cast<std::size_t>(rank()));
  std::byte* const result = data_of(output);
  reduce({&result, 1},
         {const_cast<const std::byte* const*>(all.data()), all.size()},
         output.numel(),
         input.scalar_type(),
         how);
  finish_reading(Kind::reduce_scatter);
}

void SharedBackend::broadcast(const at::Tensor& tensor, int root) {
  agree(make_card(Kind::broadcast, tensor, {}, root), data_of(tensor));
  if (!reachable(root)) return staged_broadcast(stage_, data_of(tensor), tensor.nbytes(), root);
  if (rank() != root) {
    copy_bytes(data_of(tensor), data_of_all(0)[static_cast<std::size_t>(root)], tensor.nbytes());
  }
  finish_reading(Kind::broadcast);
}

void SharedBackend::all_to_all(const at::Tensor& output,
                               const at::Tensor& input,
                               const Splits& splits) {
  CallCard card = make_card(Kind::all_to_all, input);
  card.bytes = 0;  // ranks may differ here; exchange_routes() checks each pair
  agree(card, data_of(input));
  const Routes routes = exchange_routes(splits, input.element_size());
  staged_all_to_all(stage_, data_of(output), data_of(input), routes);
}

/// Shows every rank how much it will get, so that all know how many turns there are and that
/// senders and receivers mean the same.
Routes SharedBackend::exchange_routes(const Splits& splits, std::size_t width) {
  Routes routes{runs_of(splits.input, width), runs_of(splits.output, width)};
  const at::Tensor mine = at::empty({size()}, at::kLong);
  const at::Tensor table = at::empty({size(), size()}, at::kLong);
  for (int r = 0; r < size(); ++r) {
    mine.mutable_data_ptr<std::int64_t>()[r] = routes.input[static_cast<std::size_t>(r)].count;
  }
  all_gather(table, mine);
  const std::int64_t* sent = table.const_data_ptr<std::int64_t>();
  routes.longest = *std::max_element(sent, sent + table.numel());
  for (int from = 0; from < size(); ++from) {
    const std::int64_t expected = routes.output[static_cast<std::size_t>(from)].count;
    const std::int64_t given = sent[from * size() + rank()];
    if (expected == given) continue;
    leave();
    throw CommError(fmt::format("all_to_all expected {} bytes from {}, which sends {}",
                                expected,
                                meeting_.describe(from),
                                given));
  }
  return routes;
}

void SharedBackend::send(const at::Tensor& tensor, int to, int tag) {
  check_on_cpu(tensor);
  shared::send(meeting_, {data_of(tensor), tensor.nbytes(), tag}, to);
}

void SharedBackend::recv(const at::Tensor& tensor, int from, int tag) {
  check_on_cpu(tensor);
  shared::recv(meeting_, {data_of(tensor), tensor.nbytes(), tag}, from);
}

void SharedBackend::barrier() {
  CallCard card{};
  card.kind = static_cast<std::uint32_t>(Kind::barrier);
  agree(card, nullptr);
}

bool SharedBackend::fits_at_once(std::size_t bytes) const {
  return bytes <= std::min(kAtOnce, stage_.slot_bytes());
}

void SharedBackend::show_at_once(const CallCard& card, const std::byte* data, std::size_t bytes) {
  copy_bytes(stage_.slot(rank()), data, bytes);
  agree(card, nullptr);
}

std::vector<const std::byte*> SharedBackend::slots_of_all() const {
  std::vector<const std::byte*> slots;
  for (int r = 0; r < size(); ++r) slots.push_back(stage_.slot(r));
  return slots;
}

/// Waits until every rank is in the same call, and says where this rank's data lies.
void SharedBackend::agree(CallCard card, const std::byte* data) {
  const Place place = allocations_->place_of(data, static_cast<std::size_t>(card.bytes));
  card.allocation = place.allocation;
  card.offset = place.offset;
  meeting_.arena().rank(rank()).cards[++num_calls_ % 2] = card;
  meeting_.arrive(static_cast<Kind>(card.kind));
  check_cards(card);
}

void SharedBackend::check_cards(const CallCard& own) const {
  for (int r = 0; r < size(); ++r) {
    const CallCard& other = card_of(r);
    if (same_call(own, other)) continue;
    throw CommError(fmt::format("ranks disagree: {} called {}, {} called {}",
                                meeting_.describe(rank()),
                                describe(own),
                                meeting_.describe(r),
                                describe(other)));
  }
}

const CallCard& SharedBackend::card_of(int rank) const {
  return meeting_.arena().rank(rank).cards[num_calls_ % 2];
}

bool SharedBackend::all_reachable() const {
  for (int r = 0; r < size(); ++r) {
    if (!reachable(r)) return false;
  }
  return true;
}

std::vector<std::byte*> SharedBackend::data_of_all(std::size_t offset) const {
  std::vector<std::byte*> pointers;
  for (int r = 0; r < size(); ++r) {
    const Place place{card_of(r).allocation, card_of(r).offset};
    pointers.push_back(allocations_->pointer_to(r, place) + offset);
  }
  return pointers;
}

at::Tensor SharedBackend::shared_empty(std::int64_t numel, at::ScalarType dtype) {
  if (ranks_ == Ranks::threads || numel == 0) return at::empty({numel}, dtype);
  const std::size_t bytes = static_cast<std::size_t>(numel) * c10::elementSize(dtype);
  const std::size_t stride = (bytes + kPage - 1) / kPage * kPage;
  std::shared_ptr<Segment> segment =
      common_segment(*this,
                     meeting_.members(),
                     {ranks_, stride * static_cast<std::size_t>(size()), /*creator=*/0});
  std::byte* own = segment->data() + stride * static_cast<std::size_t>(rank());
  const std::int64_t allocation = allocations_->add(std::move(segment), stride);
  const auto forget = [allocations = allocations_, allocation](void*) {
    allocations->remove(allocation);
  };
  return at::from_blob(own, {numel}, forget, dtype);
}

std::unique_ptr<Backend> SharedBackend::split(const Members& members, const std::string& /*name*/) {
  const std::vector<int>& here = meeting_.members().world_ranks;
  const auto creator =
      std::find(here.begin(), here.end(), members.world_ranks.front()) - here.begin();
  const ArenaOptions options = meeting_.arena().options();
  Arena arena(
      common_segment(*this,
                     meeting_.members(),
                     {ranks_, Arena::bytes(members.size(), options), static_cast<int>(creator)}),
      members.size(),
      options);
  return std::make_unique<SharedBackend>(
      ranks_, Meeting(std::move(arena), members, meeting_.peers(), meeting_.timeout()));
}

}  // namespace sheaf::comm::shared
