// Writes the pages of docs/ that list what sheaf refuses: write_error_pages [ROOT]
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "error_pages.h"

int main(int argc, char** argv) try {
  const std::filesystem::path root = argc > 1 ? argv[1] : ".";
  for (const sheaf::ErrorPage& page : sheaf::usage_pages(sheaf::messages_below(root))) {
    std::ofstream file(root / page.path);
    file << page.text;
    if (!file.flush()) throw std::runtime_error("cannot write " + page.path);
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
