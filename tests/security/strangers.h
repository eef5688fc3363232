#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>

#include "base/file_descriptor.h"
#include "security/ports.h"

namespace sheaf::testing {

/// Connects to ports and sends what nobody asked for: random bytes, nothing at all, half a
/// greeting, a whole one with a wrong proof, huge lengths, the first words of LibTorch's store and
/// of gloo. Some connections stay open, up to a few hundred.
class Strangers {
 public:
  explicit Strangers(std::uint32_t seed) : random_(seed) {}

  /// Tries one connection; counts it.
  void visit(const Port& port);

  [[nodiscard]] int tried() const { return tried_; }
  /// How many came through to a program or its queue.
  [[nodiscard]] int connected() const { return connected_; }

 private:
  [[nodiscard]] std::string payload();
  [[nodiscard]] std::string noise(std::size_t size);

  std::mt19937 random_;
  int tried_ = 0;
  int connected_ = 0;
  std::deque<FileDescriptor> open_;
};

}  // namespace sheaf::testing
