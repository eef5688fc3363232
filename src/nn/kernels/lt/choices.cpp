#include "choices.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "sheaf/base/log.h"

namespace sheaf::nn::lt {
namespace {

constexpr std::size_t kWords = sizeof(cublasLtMatmulAlgo_t) / sizeof(std::uint64_t);
using Words = std::array<std::uint64_t, kWords>;

std::string text_of(const Matrix& matrix) {
  return fmt::format("{}{}", matrix.columns ? 'c' : 'r', matrix.leading);
}

std::string line_of(const std::string& key, const Choice& choice) {
  std::string line = fmt::format("{} {:x}", key, choice.workspace);
  for (const std::uint64_t word : std::bit_cast<Words>(choice.algorithm)) {
    line += fmt::format(" {:016x}", word);
  }
  return line + "\n";
}

}  // namespace

std::string key_of(const Shape& shape) {
  return fmt::format("{}x{}x{}/{}-{}/{}/{}/{}/{}/{}/{}{}{}{}{}/{}",
                     shape.m,
                     shape.n,
                     shape.k,
                     c10::toString(shape.factors),
                     c10::toString(shape.result),
                     text_of(shape.a),
                     text_of(shape.b),
                     text_of(shape.c),
                     text_of(shape.d),
                     text_of(shape.inner),
                     shape.gelu ? "gelu" : "",
                     shape.adds ? "+c" : "",
                     shape.bias ? "+bias" : "",
                     shape.tf32 ? "+tf32" : "",
                     shape.guessed ? "+guessed" : "",
                     shape.workspace);
}

std::filesystem::path choices_file(const std::string& gpu, std::size_t version) {
  const auto variable = [](const char* name) -> std::filesystem::path {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  std::filesystem::path folder = variable("XDG_CACHE_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") / ".cache";
  if (folder.empty()) return {};
  std::string name;
  for (const char c : gpu) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return folder / "sheaf" / fmt::format("algorithms_{}_cublaslt{}.txt", name, version);
}

Choices::Choices(std::filesystem::path file) : file_(std::move(file)) { read(); }

/// Lines that cannot be read are as good as none: what they stood for is measured again.
void Choices::read() {
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string key;
    std::size_t workspace = 0;
    Words words{};
    fields >> key >> std::hex >> workspace;
    for (std::uint64_t& word : words) fields >> word;
    if (!fields) continue;
    known_.insert_or_assign(key, Choice{std::bit_cast<cublasLtMatmulAlgo_t>(words), workspace});
  }
}

std::optional<Choice> Choices::find(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key_of(shape));
  const bool fits = found != known_.end() && found->second.workspace <= shape.workspace;
  return fits ? std::optional(found->second) : std::nullopt;
}

void Choices::add(const Shape& shape, const Choice& choice, bool lasting) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(shape);
  known_.insert_or_assign(key, choice);
  if (!lasting || file_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  // In one piece, since other ranks write to it, too.
  std::ofstream out(file_, std::ios::app);
  const std::string line = line_of(key, choice);
  out.write(line.data(), static_cast<std::streamsize>(line.size()));
  if (out.flush()) return;
  log::debug("nn", fmt::format("choices of products cannot be kept in {}", file_.string()));
  file_.clear();
}

}  // namespace sheaf::nn::lt
