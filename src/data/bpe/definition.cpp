#include "data/bpe/definition.h"

#include "base/checksum.h"

namespace sheaf::data::bpe {
namespace {

/// Writes values so that two different rows of them never give the same bytes.
class Row {
 public:
  void add(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const char* text) { add(std::string_view(text)); }

  void add(const AddedToken& token) {
    add(token.id);
    add(token.text);
    for (const bool flag :
         {token.single_word, token.takes_left, token.takes_right, token.normalized}) {
      add(std::uint64_t{flag});
    }
  }

  void add(UnicodeForm form) { add(static_cast<std::uint64_t>(form)); }
  void add(const Prepend& step) { add(step.text); }
  void add(const Replace& step) {
    add(step.from);
    add(step.to);
  }
  void add(const SplitByPattern& step) {
    add(step.expression);
    add(std::uint64_t{step.is_text});
    add(static_cast<std::uint64_t>(step.behavior));
    add(std::uint64_t{step.invert});
  }
  void add(const SplitDigits& step) { add(std::uint64_t{step.each_alone}); }
  void add(const PrefixSpace&) {}
  void add(const Merge& merge) {
    add(merge.left);
    add(merge.right);
    add(merge.result);
  }

  template <class... Steps>
  void add(const std::variant<Steps...>& step) {
    add(step.index());
    std::visit([this](const auto& each) { this->add(each); }, step);
  }

  template <class Item>
  void add_all(const std::vector<Item>& items) {
    add(items.size());
    for (const auto& item : items) add(item);
  }

  [[nodiscard]] std::uint64_t hash() const { return checksum_of(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

std::uint64_t hash_of(const Definition& definition) {
  Row row;
  row.add("byte-pair tokenizer");
  row.add_all(definition.texts);
  row.add(std::uint64_t{definition.byte_level});
  row.add_all(definition.merges);
  row.add(std::uint64_t{definition.whole_words});
  row.add(std::uint64_t{definition.byte_tokens.has_value()});
  row.add(std::uint64_t{definition.unknown ? *definition.unknown + 1ULL : 0ULL});
  row.add(std::uint64_t{definition.fuse_unknown});
  row.add_all(definition.added);
  row.add_all(definition.normal_steps);
  row.add_all(definition.split_steps);
  return row.hash();
}

}  // namespace sheaf::data::bpe
