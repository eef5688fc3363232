#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace sheaf {

/// Says what went wrong in one sentence; the base of everything sheaf throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Returns what a program that ends with this error exits with.
  [[nodiscard]] virtual int exit_code() const { return 1; }
  /// Returns an error of the same kind whose message starts with `prefix`, such as "rank 2: ".
  [[nodiscard]] virtual std::exception_ptr with_prefix(const std::string& prefix) const;
};

/// What the caller or the user asked for cannot be: an option, a file, a shape.
class UsageError : public Error {
 public:
  using Error::Error;
  [[nodiscard]] int exit_code() const override { return 2; }
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override;
};

/// Ranks could not talk: a peer is missing, died, timed out or called something else.
class CommError : public Error {
 public:
  using Error::Error;
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override;
};

/// A file, a disk or another part of the operating system refused.
class IoError : public Error {
 public:
  using Error::Error;
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override;
};

}  // namespace sheaf
