#pragma once

#include <string>

#include "sheaf/base/error.h"

namespace sheaf::train {

/// A run ended because it had too little memory.
class RunOutOfMemory final : public Error {
 public:
  RunOutOfMemory(const std::string& what, std::string page) : Error(what), page_(std::move(page)) {}

  /// Returns lines for people: who held the memory, and changes with which the run would fit.
  [[nodiscard]] const std::string& page() const { return page_; }
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override {
    return std::make_exception_ptr(RunOutOfMemory(prefix + what(), page_));
  }

 private:
  std::string page_;
};

}  // namespace sheaf::train
