#include "data/bpe/byte_alphabet.h"

#include "data/bpe/code_points.h"

namespace sheaf::data::bpe {
namespace {

constexpr char32_t kFirstSubstitute = 0x100;

bool stands_for_itself(char32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

void append_two_bytes(std::string& text, char32_t letter) {
  text.push_back(static_cast<char>(0xc0 | letter >> 6));
  text.push_back(static_cast<char>(0x80 | (letter & 0x3f)));
}

}  // namespace

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  char32_t substitute = kFirstSubstitute;
  for (char32_t byte = 0; byte < letters_.size(); ++byte) {
    const char32_t letter = stands_for_itself(byte) ? byte : substitute++;
    letters_.at(byte) = letter;
    bytes_.at(letter) = static_cast<int>(byte);
  }
}

std::string ByteAlphabet::letters_of(std::string_view bytes) const {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const char32_t code = letter(static_cast<unsigned char>(c));
    if (code < 0x80) {
      text.push_back(static_cast<char>(code));
    } else {
      append_two_bytes(text, code);
    }
  }
  return text;
}

std::optional<std::string> ByteAlphabet::bytes_of(std::string_view letters) const {
  std::string bytes;
  bytes.reserve(letters.size());
  while (!letters.empty()) {
    const CodePoint point = read_code_point(letters);
    if (point.size == 0 || point.value >= kEnd || bytes_.at(point.value) < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(bytes_.at(point.value)));
    letters.remove_prefix(point.size);
  }
  return bytes;
}

}  // namespace sheaf::data::bpe
