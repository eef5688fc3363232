#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sheaf/base/field.h"
#include "sheaf/base/limits.h"

// Note [Describing options]
// An options struct is an aggregate with defaults. Beside it, in the same namespace, stands
//
//   template <class Fields>
//   void describe(Fields& field, MeshOptions& mesh) {
//     field("replicate", mesh.replicate, "copies of the model", at_least(1));
//     field.section("retry", mesh.retry);  // a struct inside the struct
//   }
//
// which is the only list of its members. An enum class among them has, in its own namespace,
//
//   constexpr auto enum_names(Stage) {
//     return std::array{EnumName{"ddp", Stage::ddp}, EnumName{"NO_SHARD", Stage::ddp}};
//   }
//
// where the first name of a value is the one that is written, and later ones are only read.

namespace sheaf {

/// One name of one value of an enum class; see Note [Describing options].
template <class Enum>
struct EnumName {
  std::string_view name;
  Enum value;
};
template <class Enum>
EnumName(const char*, Enum) -> EnumName<Enum>;

/// Returns the name that `value` is written with, or "?" if enum_names does not list it.
template <class Enum>
[[nodiscard]] constexpr std::string_view enum_name(Enum value) {
  for (const auto& each : enum_names(value)) {
    if (each.value == value) return each.name;
  }
  return "?";
}

/// Gathers the fields of described structs; this is what `describe` gets as `field`.
class FieldCollector {
 public:
  template <class T>
  void operator()(std::string_view name, T& member, std::string_view help) {
    add(name, erase(member), help, {});
  }
  template <class T>
  void operator()(std::string_view name, T& member, std::string_view help, Bounds bounds) {
    static_assert(!kIsText<T> && !std::is_enum_v<T> && !std::is_same_v<T, bool>,
                  "only numbers, sizes and times have bounds");
    add(name, erase(member), help, {.bounds = bounds, .choices = {}});
  }
  template <class T>
  void operator()(std::string_view name, T& member, std::string_view help, OneOf choices) {
    static_assert(kIsText<T>, "only texts have a list of choices");
    add(name, erase(member), help, {.bounds = {}, .choices = std::move(choices.texts)});
  }
  /// Lists the members of `options` under `name`.
  template <class Options>
  void section(std::string_view name, Options& options) {
    const std::string outer = prefix_;
    prefix_.append(name).append(".");
    describe(*this, options);
    prefix_ = outer;
  }

  [[nodiscard]] std::vector<Field>& fields() { return fields_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }

 private:
  template <class T>
  static constexpr bool kIsText =
      std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>;

  template <class T>
  static FieldMember erase(T& member) {
    if constexpr (std::is_enum_v<T>) {
      EnumMember erased;
      for (const auto& each : enum_names(member)) {
        erased.names.emplace_back(each.name, static_cast<std::int64_t>(each.value));
      }
      erased.read = [&member] { return static_cast<std::int64_t>(member); };
      erased.write = [&member](std::int64_t value) { member = static_cast<T>(value); };
      return erased;
    } else {
      return &member;
    }
  }

  void add(std::string_view name, FieldMember member, std::string_view help, FieldLimit limit);

  std::string prefix_;
  std::vector<Field> fields_;
};

/// Returns the fields of one described struct, without a section around them.
template <class Options>
[[nodiscard]] std::vector<Field> fields_of(Options& options) {
  FieldCollector collector;
  describe(collector, options);
  return std::move(collector.fields());
}

}  // namespace sheaf
