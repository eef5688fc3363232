#include "agreement.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "comm/texts.h"
#include "sheaf/base/error.h"

namespace sheaf::sharding {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 14695981039346656037ULL;  // FNV-1a
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return value;
}

/// Returns every rank's pair of numbers, in rank order.
std::vector<std::int64_t> exchange(const comm::Group& group, std::int64_t a, std::int64_t b) {
  const at::Tensor own = at::empty({2}, at::kLong);
  own.mutable_data_ptr<std::int64_t>()[0] = a;
  own.mutable_data_ptr<std::int64_t>()[1] = b;
  const at::Device device = group.device();
  const at::Tensor all = at::empty({group.size() * 2}, at::TensorOptions(device).dtype(at::kLong));
  group.all_gather(all, own.to(device), {.purpose = comm::Purpose::control}).wait();
  const at::Tensor back = all.cpu();
  const auto* values = back.const_data_ptr<std::int64_t>();
  return {values, values + back.numel()};
}

/// Returns how two texts differ in their first line that does.
std::string first_difference(const std::string& first, const std::string& other, std::size_t rank) {
  std::istringstream a(first);
  std::istringstream b(other);
  std::string line_a;
  std::string line_b;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (more_a && more_b && line_a == line_b) continue;
    if (!more_a) line_a = "nothing more";
    if (!more_b) line_b = "nothing more";
    return fmt::format("rank {} has {}, rank 0 has {}", rank, line_b, line_a);
  }
}

}  // namespace

void check_agreement(const comm::Group& group,
                     const std::vector<std::string>& lines,
                     const std::string& what) {
  const std::string text = joined(lines);
  const auto digest = static_cast<std::int64_t>(hash(text));
  const std::vector<std::int64_t> all =
      exchange(group, digest, static_cast<std::int64_t>(text.size()));
  bool same = true;
  for (std::size_t r = 0; r * 2 < all.size(); ++r) {
    same = same && all[2 * r] == all[0] && all[2 * r + 1] == all[1];
  }
  if (same) return;
  const std::vector<std::string> texts = comm::gather_texts(group, text);
  for (std::size_t r = 1; r < texts.size(); ++r) {
    if (texts[r] == texts[0]) continue;
    throw UsageError(
        fmt::format("the ranks' {} differ: {}", what, first_difference(texts[0], texts[r], r)));
  }
}

}  // namespace sheaf::sharding
