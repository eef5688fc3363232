#include "texts.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

namespace sheaf::comm {
namespace {

/// Joins every rank's part on the CPU.
at::Tensor gathered(const Group& group, const at::Tensor& own) {
  const at::Device device = group.device();
  const at::Tensor all = at::empty({group.size() * own.numel()}, own.options().device(device));
  group.all_gather(all, own.to(device), {.purpose = Purpose::control}).wait();
  return all.cpu();
}

}  // namespace

std::vector<std::string> gather_texts(const Group& group, const std::string& text) {
  const at::Tensor sizes =
      gathered(group, at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong));
  const auto* size = sizes.const_data_ptr<std::int64_t>();
  const std::int64_t longest = *std::max_element(size, size + group.size());
  std::vector<std::string> texts(static_cast<std::size_t>(group.size()));
  if (longest == 0) return texts;
  const at::Tensor own = at::zeros({longest}, at::kByte);
  std::memcpy(own.mutable_data_ptr(), text.data(), text.size());
  const at::Tensor all = gathered(group, own);
  const auto* bytes = static_cast<const char*>(all.const_data_ptr());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    texts[rank].assign(bytes + static_cast<std::int64_t>(rank) * longest,
                       static_cast<std::size_t>(size[rank]));
  }
  return texts;
}

std::string broadcast_text(const Group& group, const std::string& text, int root) {
  if (group.size() == 1) return text;
  const auto on_device = at::TensorOptions(group.device());
  const at::Tensor size = at::empty({1}, on_device.dtype(at::kLong));
  size.fill_(static_cast<std::int64_t>(text.size()));
  group.broadcast(size, root, {.purpose = Purpose::control}).wait();
  const auto length = size.item<std::int64_t>();
  if (length == 0) return "";
  at::Tensor bytes = at::zeros({length}, at::kByte);
  if (group.rank() == root) std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  bytes = bytes.to(group.device());
  group.broadcast(bytes, root, {.purpose = Purpose::control}).wait();
  const at::Tensor back = bytes.cpu();
  return {static_cast<const char*>(back.const_data_ptr()), static_cast<std::size_t>(length)};
}

}  // namespace sheaf::comm
