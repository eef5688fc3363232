#include "sheaf/memory/limit.h"

#include <fmt/format.h>

namespace sheaf::memory {
namespace {

std::string sentence(const OutOfMemory::Facts& facts) {
  const std::string text = fmt::format("out of memory: {} more do not fit beside the {} in use",
                                       to_string(facts.wanted),
                                       to_string(facts.in_use));
  if (facts.limit.count == 0) return text + "; no memory limit was set, the system has no more";
  return text + " below the limit of " + to_string(facts.limit);
}

}  // namespace

OutOfMemory::OutOfMemory(Facts facts, const std::string& prefix)
    : Error(prefix + sentence(facts)), facts_(std::move(facts)) {}

std::exception_ptr OutOfMemory::with_prefix(const std::string& prefix) const {
  const std::string own = what();
  const std::string before = own.substr(0, own.size() - sentence(facts_).size());
  return std::make_exception_ptr(OutOfMemory(facts_, prefix + before));
}

}  // namespace sheaf::memory
