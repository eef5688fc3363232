#include "module/deferred_seed.h"

#include <ATen/CPUGeneratorImpl.h>

namespace sheaf::module {
namespace {

constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;

// The finaliser of splitmix64: every bit of the input reaches every bit of the result.
std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  return scrambled(scrambled(seed + kGoldenRatio) + value);
}

std::uint64_t mix(std::uint64_t seed, std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix(seed, hash);
}

at::Generator generator_from(std::uint64_t key) {
  // LibTorch's own seeding drops the upper half of the key, so the state is written here.
  at::mt19937_data_pod data{.seed_ = key, .left_ = 1, .seeded_ = true, .next_ = 0, .state_ = {}};
  std::uint64_t counter = key;
  for (auto& word : data.state_) {
    word = static_cast<std::uint32_t>(scrambled(counter += kGoldenRatio));
  }
  at::mt19937 engine;
  engine.set_data(data);
  auto generator = at::detail::createCPUGenerator(key);
  generator.get<at::CPUGeneratorImpl>()->set_engine(engine);
  return generator;
}

}  // namespace sheaf::module
