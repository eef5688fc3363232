#pragma once

#include "study/json.h"

// The sections of a study's report, from what run_study() returns.
namespace sheaf::study {

/// Throughput, speed-up and the check of weights and losses.
[[nodiscard]] Json speed_section(const Json& data);
/// Throughput and memory against the micro-batch.
[[nodiscard]] Json sweep_section(const Json& data);
/// Where the time of a step goes, and what strategies cost beside one device.
[[nodiscard]] Json time_section(const Json& data);
/// Overlap, collectives, bytes.
[[nodiscard]] Json exchange_section(const Json& data);
/// Bytes by purpose, predicted and measured, and over a step.
[[nodiscard]] Json memory_section(const Json& data);
/// Of that section what a GPU's allocator did: tables and charts, none on CPUs.
[[nodiscard]] Json allocator_blocks(const Json& memory);
/// Operators that strategies add, drop and change.
[[nodiscard]] Json operators_section(const Json& data);
/// What each optimisation adds.
[[nodiscard]] Json gains_section(const Json& data);
/// What each strategy cuts and exchanges.
[[nodiscard]] Json guide_section(const Json& data);
/// What was held at most, ours and PyTorch's, and whether weights and losses are right.
[[nodiscard]] Json peaks_section(const Json& data);
/// More devices than there were.
[[nodiscard]] Json projection_section(const Json& data);
/// What a healthy run does, and what this one did.
[[nodiscard]] Json checks_section(const Json& data);
/// Machine, versions, commands.
[[nodiscard]] Json environment_section(const Json& data);

/// Which strategy to take: its row, and the reasons as a sentence.
struct Choice {
  Json row;
  std::string reason;
};
[[nodiscard]] Choice choose(const Json& data);

}  // namespace sheaf::study
