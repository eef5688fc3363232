#include "collective_names.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace sheaf::profile {
namespace {

// As they are spelled without case and underscores. What contains another comes first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSpellings = {{
    {"reducescatter", "reduce_scatter"},
    {"allreduce", "all_reduce"},
    {"allgather", "all_gather"},
    {"alltoall", "all_to_all"},
    {"broadcast", "broadcast"},
    {"barrier", "barrier"},
    {"sendrecv", "send"},
    {"send", "send"},
    {"recv", "recv"},
    {"reduce", "reduce"},
}};

// Who exchanges. Other names, such as at::native::reduce_kernel, only sound like it.
constexpr std::array<std::string_view, 4> kSpeakers = {"nccl", "gloo:", "c10d::", "sheaf::comm::"};

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

}  // namespace

bool is_exchange_kernel(std::string_view name) {
  return plain(name).find("nccl") != std::string::npos ||
         name.find("sheaf::comm::") != std::string_view::npos;
}

std::optional<std::string_view> collective_of(std::string_view name) {
  const std::string text = plain(name);
  for (const std::string_view speaker : kSpeakers) {
    const auto place = text.find(speaker);
    if (place == std::string::npos) continue;
    for (const auto& [spelling, collective] : kSpellings) {
      if (text.find(spelling, place) != std::string::npos) return collective;
    }
  }
  return std::nullopt;
}

}  // namespace sheaf::profile
