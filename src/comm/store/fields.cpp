#include "fields.h"

#include <charconv>
#include <cstring>

#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

[[noreturn]] void fail() { throw CommError("a message of the store makes no sense"); }

}  // namespace

FieldsWriter& FieldsWriter::add(std::string_view field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  text_.append(reinterpret_cast<const char*>(&size), sizeof(size));
  text_ += field;
  return *this;
}

FieldsReader::FieldsReader(std::string_view text) {
  if (text.empty()) fail();
  kind_ = static_cast<std::uint8_t>(text.front());
  left_ = text.substr(1);
}

std::string FieldsReader::next() {
  std::uint32_t size = 0;
  if (left_.size() < sizeof(size)) fail();
  std::memcpy(&size, left_.data(), sizeof(size));
  left_.remove_prefix(sizeof(size));
  if (left_.size() < size) fail();
  std::string field(left_.substr(0, size));
  left_.remove_prefix(size);
  return field;
}

std::int64_t FieldsReader::next_number() {
  const std::string field = next();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc() || end != field.data() + field.size()) fail();
  return number;
}

std::vector<std::string> FieldsReader::rest() {
  std::vector<std::string> fields;
  while (!left_.empty()) fields.push_back(next());
  return fields;
}

}  // namespace sheaf::comm::store
