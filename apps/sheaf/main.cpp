#include <iostream>

#include "cli/program.h"

int main(int argc, char** argv) {
  return sheaf::cli::run_program(argc, argv, std::cout, std::cerr);
}
