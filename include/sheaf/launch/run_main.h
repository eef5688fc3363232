#pragma once

#include <functional>

#include "sheaf/comm/group.h"

namespace sheaf::launch {

/// The whole main() of a program whose ranks run `body`: starts itself again when the user gave
/// `--ranks N`, joins the other ranks, and turns an error into one line on stderr and an exit code
/// (2 for wrong usage, 1 for everything else).
///
///   int main(int argc, char** argv) { return sheaf::launch::run_main(argc, argv, train); }
[[nodiscard]] int run_main(int argc, char** argv, const std::function<void(comm::Group)>& body);

}  // namespace sheaf::launch
