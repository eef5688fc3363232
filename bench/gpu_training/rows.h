#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/models/options.h"

namespace sheaf::bench {

/// What numbers are kept in, the same on all sides.
enum class Arithmetic {
  fp32,
  tf32,
  /// Products in bf16; parameters, gradients and moments in fp32.
  bf16_master,
  /// Everything in bf16.
  bf16,
};

/// One piece of work that all sides do.
struct Row {
  std::string_view name;
  std::string_view preset;
  std::int64_t batch = 1;
  /// Tokens of a text.
  std::int64_t length = 1024;
  Arithmetic arithmetic = Arithmetic::bf16_master;
  std::string_view device = "cuda";
};

[[nodiscard]] const std::vector<Row>& rows();

/// Throws UsageError with the names there are.
[[nodiscard]] const Row& find_row(std::string_view name);

/// Returns the model's shape, with the row's length as context.
[[nodiscard]] models::Shape shape_of(const Row& row);

/// Returns the options of `sheaf train` for a row, but for those of the run's length and files.
/// Each of `changes`, such as train.graph=off, is added or takes the place of the row's own.
[[nodiscard]] std::vector<std::string> sheaf_options(const Row& row,
                                                     const std::vector<std::string>& changes = {});

/// Returns fp32, tf32, bf16_master or bf16.
[[nodiscard]] std::string_view name_of(Arithmetic arithmetic);

}  // namespace sheaf::bench
