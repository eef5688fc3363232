#pragma once

#include <memory>
#include <string>

#include "../backend.h"
#include "allocations.h"
#include "meeting.h"
#include "stage.h"

namespace sheaf::comm::shared {

/// Ranks of one host that exchange data through memory they all see. Between threads, and for
/// tensors from shared_empty(), they read each other's tensors directly; otherwise each shows its
/// data to the others slot by slot. Both ways give the same bits: sums are always taken in rank
/// order.
class SharedBackend final : public Backend {
 public:
  SharedBackend(Ranks ranks, Meeting meeting);

  [[nodiscard]] std::string_view name() const override { return "shared"; }
  void all_reduce(const at::Tensor& tensor, Reduce reduce) override;
  void all_gather(const at::Tensor& output, const at::Tensor& input) override;
  void reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce reduce) override;
  void broadcast(const at::Tensor& tensor, int root) override;
  void all_to_all(const at::Tensor& output, const at::Tensor& input, const Splits& splits) override;
  void send(const at::Tensor& tensor, int to, int tag) override;
  void recv(const at::Tensor& tensor, int from, int tag) override;
  void barrier() override;
  at::Tensor shared_empty(std::int64_t numel, at::ScalarType dtype) override;
  std::unique_ptr<Backend> split(const Members& members, const std::string& name) override;
  void leave() noexcept override { meeting_.leave(); }

 private:
  [[nodiscard]] int rank() const { return meeting_.members().rank; }
  [[nodiscard]] int size() const { return meeting_.members().size(); }

  void agree(CallCard card, const std::byte* data);
  void check_cards(const CallCard& own) const;
  [[nodiscard]] const CallCard& card_of(int rank) const;
  [[nodiscard]] bool reachable(int rank) const { return card_of(rank).allocation != 0; }
  [[nodiscard]] bool all_reachable() const;
  [[nodiscard]] std::vector<std::byte*> data_of_all(std::size_t offset) const;
  [[nodiscard]] bool fits_at_once(std::size_t bytes) const;
  void show_at_once(const CallCard& card, const std::byte* data, std::size_t bytes);
  [[nodiscard]] std::vector<const std::byte*> slots_of_all() const;
  void finish_reading(Kind kind) { meeting_.arrive(kind); }

  void all_reduce_directly(const Elements& elements, Reduce reduce);
  [[nodiscard]] Routes exchange_routes(const Splits& splits, std::size_t width);

  Ranks ranks_;
  Meeting meeting_;
  Stage stage_;
  std::shared_ptr<Allocations> allocations_;
  /// Counts collectives; the same on every rank.
  std::uint32_t num_calls_ = 0;
};

}  // namespace sheaf::comm::shared
