#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sheaf::hub {

/// Reads the fields of a config.json. A field that is null counts as missing. Throws UsageError
/// that names the field and the value.
class ConfigFields {
 public:
  explicit ConfigFields(nlohmann::json config) : config_(std::move(config)) {}

  [[nodiscard]] bool has(const std::string& name) const;
  /// Returns a field that must be there: a whole number from 1 to `largest`.
  [[nodiscard]] std::int64_t size(const std::string& name, std::int64_t largest) const;
  /// The same for a field that may be missing.
  [[nodiscard]] std::int64_t size_or(const std::string& name,
                                     std::int64_t largest,
                                     std::int64_t otherwise) const;
  /// Returns a number above 0.
  [[nodiscard]] double positive_or(const std::string& name, double otherwise) const;
  /// Returns a number from 0 to below 1.
  [[nodiscard]] double probability_or(const std::string& name, double otherwise) const;
  [[nodiscard]] bool flag_or(const std::string& name, bool otherwise) const;
  [[nodiscard]] std::string text_or(const std::string& name, const std::string& otherwise) const;
  /// Returns a list of zeros and ones.
  [[nodiscard]] std::vector<std::int64_t> bits(const std::string& name) const;

  /// Refuses a text that is not among `possible`; the first of them stands for a missing one.
  void expect_one_of(const std::string& name, const std::vector<std::string>& possible) const;
  /// Refuses a flag with another value than the one that models here have.
  void expect_flag(const std::string& name, bool only) const;
  /// Refuses anything but null.
  void expect_none(const std::string& name) const;

  [[nodiscard]] const nlohmann::json& json() const { return config_; }
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

 private:
  [[nodiscard]] double number_or(const std::string& name,
                                 double otherwise,
                                 const std::string& expected) const;

  nlohmann::json config_;
};

}  // namespace sheaf::hub
