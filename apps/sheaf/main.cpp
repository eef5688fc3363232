#include <iostream>

#include "base/amx.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  sheaf::avoid_broken_amx();
  return sheaf::cli::run_program(argc, argv, std::cout, std::cerr);
}
