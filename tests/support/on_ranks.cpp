#include "on_ranks.h"

#include <ATen/ATen.h>

#include <sstream>
#include <stdexcept>

#include "sheaf/base/error.h"

namespace sheaf::testing {

std::string name(Way way) {
  switch (way) {
    case Way::gloo:
      return "gloo";
    case Way::shared_threads:
      return "shared_threads";
    case Way::shared_processes:
      return "shared_processes";
  }
  return "?";
}

void on_ranks(Way way, int num_ranks, const std::function<void(comm::Group)>& body) {
  if (way != Way::shared_processes) {
    const auto backend = way == Way::gloo ? comm::BackendKind::gloo : comm::BackendKind::shared;
    EXPECT_NO_THROW(comm::run_ranks(num_ranks, body, {.backend = backend, .timeout = Seconds(60)}));
    return;
  }
  const auto outcomes = comm::run_ranks_forked(
      num_ranks, body, {.backend = comm::BackendKind::shared, .timeout = Seconds(60)});
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].error, "") << "rank " << rank;
    EXPECT_EQ(outcomes[rank].exit_code, 0)
        << "rank " << rank << ", signal " << outcomes[rank].signal;
  }
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void require_equal(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  if (actual.sizes() == expected.sizes() && actual.scalar_type() == expected.scalar_type() &&
      actual.equal(expected)) {
    return;
  }
  std::ostringstream text;
  text << what << ": got\n"
       << actual.view({-1}).slice(0, 0, 16) << "\nexpected\n"
       << expected.view({-1}).slice(0, 0, 16);
  throw std::runtime_error(text.str());
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace sheaf::testing
