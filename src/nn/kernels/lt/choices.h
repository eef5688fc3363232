#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "choice.h"
#include "shape.h"

namespace sheaf::nn::lt {

/// Algorithms that were chosen, in memory and in a file: to measure takes a moment, and whoever
/// starts the same training again should have the same sums, bit for bit.
class Choices {
 public:
  /// `file` is read if it is there, and may be empty.
  explicit Choices(std::filesystem::path file);

  [[nodiscard]] std::optional<Choice> find(const Shape& shape);
  /// Remembers an algorithm; `lasting` ones for later runs, too.
  void add(const Shape& shape, const Choice& choice, bool lasting);

 private:
  void read();

  std::filesystem::path file_;
  std::mutex mutex_;
  std::map<std::string, Choice> known_;
};

/// Where choices of one kind of GPU and one version of the library are kept; empty where a process
/// has no folder of its own for such things.
[[nodiscard]] std::filesystem::path choices_file(const std::string& gpu, std::size_t version);

/// A shape as one word, for files and for looking up.
[[nodiscard]] std::string key_of(const Shape& shape);

}  // namespace sheaf::nn::lt
