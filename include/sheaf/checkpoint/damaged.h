#pragma once

#include "sheaf/base/error.h"

namespace sheaf::checkpoint {

/// What is on disk is not what was saved: a file is missing, changed, or cut short.
class Damaged : public Error {
 public:
  using Error::Error;
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override {
    return std::make_exception_ptr(Damaged(prefix + what()));
  }
};

/// A checkpoint of a format that this program does not know. It may well be whole, so nobody but
/// the program that wrote it should touch it.
class UnknownVersion : public Error {
 public:
  using Error::Error;
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override {
    return std::make_exception_ptr(UnknownVersion(prefix + what()));
  }
};

}  // namespace sheaf::checkpoint
