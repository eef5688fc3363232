#pragma once

#include <string>
#include <string_view>

#include "../environment.h"

namespace sheaf::comm::store {

/// What the ranks of one run know and nobody else does: who has it may join. It goes from the
/// launcher to its ranks in their environment, and is never part of a command line or a log.
class Secret {
 public:
  /// The variable of a rank's environment that holds hex().
  static constexpr const char* kVariable = "SHEAF_SECRET";
  /// The variable that names a file as `--secret-file` does, for all who start without a launcher.
  static constexpr const char* kFileVariable = "SHEAF_SECRET_FILE";

  /// No secret: whoever reaches the store may join.
  Secret() = default;
  /// Makes a new one from 32 random bytes of the kernel.
  [[nodiscard]] static Secret random();
  /// Makes one of all that a file holds. Throws UsageError where others could read or change it, or
  /// where it is too short to be one.
  [[nodiscard]] static Secret read(const std::string& path);
  /// Reads what hex() wrote. Throws UsageError that does not repeat it.
  [[nodiscard]] static Secret parse(std::string_view hex);
  /// Takes it from either variable; no secret where there is none.
  [[nodiscard]] static Secret from_environment(const Lookup& lookup);

  [[nodiscard]] bool is_none() const { return key_.empty(); }
  /// Returns the bytes to compute with.
  [[nodiscard]] const std::string& key() const { return key_; }
  /// Writes it for kVariable; empty for no secret.
  [[nodiscard]] std::string hex() const;

 private:
  explicit Secret(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

}  // namespace sheaf::comm::store
