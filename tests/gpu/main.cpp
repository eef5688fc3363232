// All tests on a GPU, and the roles that copies of this program play in them as ranks.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "gpu/roles.h"
#include "models/cuda_roles.h"
#include "sharding/cuda_roles.h"
#include "train/cuda_roles.h"

namespace sheaf::testing {

std::span<const Role> all_roles() {
  static constexpr std::array kRoles{Role{"parity", &parity_role},
                                     Role{"trials", &trials_role},
                                     Role{"in_backward", &in_backward_role},
                                     Role{"mixed_precision", &mixed_precision_role},
                                     Role{"long_run", &long_run_role},
                                     Role{"no_waiting", &no_waiting_role},
                                     Role{"trainer", &trainer_role},
                                     Role{"step", &step_role},
                                     Role{"loss_curve", &loss_curve_role}};
  return kRoles;
}

}  // namespace sheaf::testing

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first.starts_with("--roles=")) return sheaf::testing::play_from_command_line(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
