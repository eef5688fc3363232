#pragma once

#include <string>
#include <string_view>

#include "data/token_source.h"

namespace sheaf::data {

/// The bytes of a text as tokens.
class ByteSource final : public TokenSource {
 public:
  /// A text that lives as long as the program.
  explicit ByteSource(std::string_view text) : text_(text) {}
  /// A text that belongs to the source.
  explicit ByteSource(std::string text) : own_(std::move(text)), text_(own_) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(text_.size());
  }
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const override;

 private:
  std::string own_;
  std::string_view text_;
};

}  // namespace sheaf::data
