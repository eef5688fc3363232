#pragma once

#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "cli/option_set.h"

namespace sheaf::bench {

/// What a benchmark's main() does: reads its options, explains them if asked to, or runs. Returns
/// the exit code.
inline int run_program(int argc,
                       char** argv,
                       const std::string& summary,
                       const std::function<void(cli::OptionSet&)>& declare,
                       const std::function<int()>& run) try {
  cli::OptionSet set;
  declare(set);
  if (set.parse(std::vector<std::string>(argv + 1, argv + argc)) == cli::Request::help) {
    std::cout << set.help("bench", summary);
    return 0;
  }
  return run();
} catch (const std::exception& error) {
  std::cerr << argv[0] << ": " << error.what() << "\n";
  return 1;
}

}  // namespace sheaf::bench
