#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

#include "pending.h"
#include "sheaf/comm/group.h"
#include "sheaf/sharding/options.h"

namespace sheaf::sharding {

/// What all parts of one engine share.
struct Context {
  ShardOptions options;
  comm::Group world;
  /// The ranks the model is cut over.
  comm::Group shard;
  /// The ranks that hold the same part in other copies of the model.
  std::optional<comm::Group> replicate;
  at::Device device;
  ExchangeStream exchange;

  [[nodiscard]] Stage stage() const { return options.stage; }
  /// Tells whether the optimizer's state is cut; gradients; parameters.
  [[nodiscard]] bool cuts_state() const { return stage() != Stage::ddp; }
  [[nodiscard]] bool cuts_gradients() const { return stage() >= Stage::zero2; }
  [[nodiscard]] bool cuts_parameters() const { return stage() == Stage::zero3; }
  [[nodiscard]] int num_shards() const { return cuts_state() ? shard.size() : 1; }
  [[nodiscard]] int shard_index() const { return cuts_state() ? shard.rank() : 0; }

  void emit(EventKind kind, std::string_view unit) const {
    if (options.on_event) options.on_event({kind, unit});
  }
  /// Hands an exchange over; without overlap it is over when this returns.
  Pending issue(const std::function<comm::Work()>& start) const {
    Pending pending = exchange.issue(start);
    if (!options.overlap) pending.wait();
    return pending;
  }
  /// Returns memory that stays, which peers can reach where the backend allows it. All ranks of the
  /// shard group must call it.
  [[nodiscard]] at::Tensor lasting_empty(std::int64_t numel, at::ScalarType dtype) const;
  /// Returns memory for whole parameters, such as lasting_empty() where ranks gather them from one
  /// another. Where each rank steps all of them peers need not reach them: once they have, a
  /// process counts the pages of its peers as its own.
  [[nodiscard]] at::Tensor whole_parameters(std::int64_t numel, at::ScalarType dtype) const;
};

}  // namespace sheaf::sharding
