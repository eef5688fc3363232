#include "sheaf/base/error.h"

#include <exception>

namespace sheaf {

std::exception_ptr Error::with_prefix(const std::string& prefix) const {
  return std::make_exception_ptr(Error(prefix + what()));
}

std::exception_ptr UsageError::with_prefix(const std::string& prefix) const {
  return std::make_exception_ptr(UsageError(prefix + what()));
}

std::exception_ptr CommError::with_prefix(const std::string& prefix) const {
  return std::make_exception_ptr(CommError(prefix + what()));
}

std::exception_ptr IoError::with_prefix(const std::string& prefix) const {
  return std::make_exception_ptr(IoError(prefix + what()));
}

}  // namespace sheaf
