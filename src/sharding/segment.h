#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "context.h"
#include "inventory.h"
#include "sheaf/layout/flat_layout.h"
#include "sheaf/memory/ledger.h"

namespace sheaf::sharding {

/// What the parameters of a segment have in common.
struct SegmentType {
  /// Type the parameters came with.
  at::ScalarType stored = at::kFloat;
  bool trainable = true;

  auto operator<=>(const SegmentType&) const = default;
};

/// Parameters of one kind in one flat buffer, of which the model's own parameters are views.
///
/// Note [Master]: the optimizer steps `master`, this rank's part in fp32 (fp64 for fp64 models), or
/// in a narrow type where the user wants it so.
/// Where parameters are whole and computed with in that type, the master is a part of `flat`
/// itself. Otherwise it has memory of its own, and `flat` follows it: by copy and, where the state
/// is cut, by an all-gather.
class Segment {
 public:
  /// Moves the given parameters into the segment. All ranks must build the same segments in the
  /// same order.
  Segment(const Context& context,
          std::string owner,
          std::vector<std::size_t> parameters,
          const Inventory& inventory);

  /// Indices of the parameters, in the order of the layout.
  [[nodiscard]] const std::vector<std::size_t>& parameters() const { return parameters_; }
  [[nodiscard]] const layout::FlatLayout& layout() const { return layout_; }
  [[nodiscard]] const SegmentType& type() const { return type_; }
  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] const at::Tensor& flat() const { return flat_; }
  [[nodiscard]] const at::Tensor& master() const { return master_; }
  [[nodiscard]] bool master_in_flat() const { return master_in_flat_; }
  /// Returns this rank's part of the flat buffer.
  [[nodiscard]] at::Tensor own_part() const;
  /// Returns where parameter `member` and its local part lie.
  [[nodiscard]] layout::Range place(std::size_t member) const { return layout_.params()[member]; }
  [[nodiscard]] layout::Range local_part(std::size_t member) const;
  /// Returns the part of a tensor that is shaped as the master which belongs to `member`.
  [[nodiscard]] at::Tensor part_of(const at::Tensor& like_master, std::size_t member) const;

  /// zero3: gives the flat buffer memory and starts to gather all parts.
  [[nodiscard]] Pending start_gather(const Context& context);
  /// zero3: gives the memory back.
  void free();
  /// zero3: gives memory without values, for when gathering has failed and operators are on their
  /// way to it.
  void give_zeros();
  /// Makes `flat` follow the master where parameters are whole; `copied` says that this rank's part
  /// is up to date already.
  [[nodiscard]] Pending start_refresh(const Context& context, bool copied);
  /// Takes over what was written into the (whole) flat buffer.
  void take_over();

 private:
  [[nodiscard]] at::Tensor starting_values(const Context& context, const Inventory& inventory);
  void place_memory(const Context& context, const at::Tensor& values);
  void place_blank(const Context& context);
  void charge(const Context& context, const at::Tensor& tensor);
  void adopt(const Inventory& inventory);

  std::string owner_;
  std::vector<std::size_t> parameters_;
  layout::FlatLayout layout_;
  SegmentType type_;
  at::ScalarType compute_;
  at::ScalarType master_type_;
  layout::Range own_;
  at::Tensor flat_;
  at::Tensor master_;
  bool master_in_flat_ = false;
  /// What whoever looks for freed memory is told.
  std::string why_freed_;
  std::vector<memory::Charge> charges_;
  memory::Charge gathered_;
};

/// Groups parameters by what a segment has in common, in their order.
[[nodiscard]] std::vector<std::vector<std::size_t>> split_by_type(
    const std::vector<std::size_t>& parameters, const Inventory& inventory);

}  // namespace sheaf::sharding
