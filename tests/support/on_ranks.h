#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sheaf/comm/run_ranks.h"

namespace sheaf::testing {

/// How the ranks of a test are run and what carries their data.
enum class Way { gloo, shared_threads, shared_processes };

std::string name(Way way);

/// Runs `body` on every rank and fails the test with the first error. In processes, expectations
/// cannot reach the test: use require().
void on_ranks(Way way, int num_ranks, const std::function<void(comm::Group)>& body);

/// Throws with `what` unless `condition` holds; works on threads and in forked ranks.
void require(bool condition, const std::string& what);
/// Throws unless both have the same shape, type and values, bit for bit.
void require_equal(const at::Tensor& actual, const at::Tensor& expected, const std::string& what);

/// Returns the message of the sheaf::Error that `body` throws; fails the test if it throws none.
std::string error_of(const std::function<void()>& body);

}  // namespace sheaf::testing
