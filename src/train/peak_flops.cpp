#include "sheaf/train/peak_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/quoting.h"

namespace sheaf::train {
namespace {

/// Published TFLOP/s without sparsity, sums in fp32; 0 where the GPU has no such products.
struct Gpu {
  /// The words that the driver's name must have, in small letters.
  std::string_view words;
  double fp32, tf32, bf16, fp16, fp8;
};

// The first row that fits counts, so a kind with one word more stands before the one without.
constexpr std::array kGpus = {
    Gpu{"gb300", 80, 1250, 2500, 2500, 5000},
    Gpu{"gb200", 80, 1250, 2500, 2500, 5000},
    Gpu{"b300", 75, 1125, 2250, 2250, 4500},
    Gpu{"b200", 75, 1125, 2250, 2250, 4500},
    Gpu{"gh200", 67, 494.5, 989, 989, 1979},
    Gpu{"h200 nvl", 60, 417.5, 835, 835, 1670},
    Gpu{"h200", 67, 494.5, 989, 989, 1979},
    Gpu{"h100 nvl", 60, 417.5, 835, 835, 1670},
    Gpu{"h100 pcie", 51, 378, 756, 756, 1513},
    Gpu{"h100 hbm3", 67, 494.5, 989, 989, 1979},
    Gpu{"h800 pcie", 51, 378, 756, 756, 1513},
    Gpu{"h800", 67, 494.5, 989, 989, 1979},
    Gpu{"h20", 44, 74, 148, 148, 296},
    Gpu{"a100", 19.5, 156, 312, 312, 0},
    Gpu{"a800", 19.5, 156, 312, 312, 0},
    Gpu{"a40", 37.4, 74.8, 149.7, 149.7, 0},
    Gpu{"a30", 10.3, 82, 165, 165, 0},
    Gpu{"a10", 31.2, 62.5, 125, 125, 0},
    Gpu{"a10g", 35, 35, 70, 70, 0},
    Gpu{"a2", 4.5, 9, 18, 18, 0},
    Gpu{"l40s", 91.6, 183, 362, 362, 733},
    Gpu{"l40", 90.5, 90.5, 181, 181, 362},
    Gpu{"l4", 30.3, 60, 121, 121, 242},
    Gpu{"v100s", 16.4, 0, 0, 130, 0},
    Gpu{"v100 sxm2", 15.7, 0, 0, 125, 0},
    Gpu{"v100 pcie", 14, 0, 0, 112, 0},
    Gpu{"t4", 8.1, 0, 0, 65, 0},
    Gpu{"rtx 6000 ada", 91.1, 182.1, 364.2, 364.2, 728.5},
    Gpu{"rtx a6000", 38.7, 77.4, 154.8, 154.8, 0},
    Gpu{"rtx a5000", 27.8, 55.6, 111.1, 111.1, 0},
    Gpu{"rtx a4000", 19.2, 38.3, 76.7, 76.7, 0},
    Gpu{"rtx 5090", 104.8, 104.8, 209.5, 209.5, 419},
    Gpu{"rtx 5080", 56.3, 56.3, 112.6, 112.6, 225.1},
    Gpu{"rtx 5070 ti", 43.9, 43.9, 87.9, 87.9, 175.8},
    Gpu{"rtx 5070", 30.9, 30.9, 61.7, 61.7, 123.5},
    Gpu{"rtx 4090", 82.6, 82.6, 165.2, 165.2, 330.3},
    Gpu{"rtx 4080 super", 52.2, 52.2, 104.4, 104.4, 208.9},
    Gpu{"rtx 4080", 48.7, 48.7, 97.5, 97.5, 194.9},
    Gpu{"rtx 4070 ti super", 44.1, 44.1, 88.2, 88.2, 176.4},
    Gpu{"rtx 4070 ti", 40.1, 40.1, 80.2, 80.2, 160.4},
    Gpu{"rtx 4070 super", 35.5, 35.5, 71, 71, 141.9},
    Gpu{"rtx 4070", 29.1, 29.1, 58.3, 58.3, 116.6},
    Gpu{"rtx 4060 ti", 22.1, 22.1, 44.1, 44.1, 88.2},
    Gpu{"rtx 4060", 15.1, 15.1, 30.2, 30.2, 60.5},
    Gpu{"rtx 3090 ti", 40, 40, 80, 80, 0},
    Gpu{"rtx 3090", 35.6, 35.6, 71, 71, 0},
    Gpu{"rtx 3080 ti", 34.1, 34.1, 68.2, 68.2, 0},
    Gpu{"rtx 3080", 29.8, 29.8, 59.5, 59.5, 0},
    Gpu{"rtx 3070 ti", 21.7, 21.7, 43.5, 43.5, 0},
    Gpu{"rtx 3070", 20.3, 20.3, 40.6, 40.6, 0},
    Gpu{"rtx 3060 ti", 16.2, 16.2, 32.4, 32.4, 0},
    Gpu{"rtx 3060", 12.7, 12.7, 25.5, 25.5, 0},
};

// These make another GPU of the same number: a row without the word does not fit.
constexpr std::array<std::string_view, 8> kKinds = {
    "d", "laptop", "max", "mig", "mobile", "super", "ti", "nvl"};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      words.back() += static_cast<char>(std::tolower(letter));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool fits(const Gpu& gpu, const std::vector<std::string>& name) {
  const auto wanted = words_of(gpu.words);
  return std::ranges::all_of(wanted, [&](const auto& word) { return has(name, word); }) &&
         std::ranges::none_of(kKinds,
                              [&](auto kind) { return has(name, kind) && !has(wanted, kind); });
}

double rate_of(const Gpu& gpu, Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp32:
      return gpu.fp32;
    case Arithmetic::tf32:
      return gpu.tf32;
    case Arithmetic::bf16:
      return gpu.bf16;
    case Arithmetic::fp16:
      return gpu.fp16;
    case Arithmetic::fp8:
      return gpu.fp8;
  }
  return 0;
}

std::string_view name_of(Arithmetic arithmetic) {
  constexpr std::array<std::string_view, 5> kNames = {"fp32", "tf32", "bf16", "fp16", "fp8"};
  return kNames[static_cast<std::size_t>(arithmetic)];
}

}  // namespace

PeakFlops gpu_peak(std::string_view name, Arithmetic arithmetic) {
  constexpr double kTera = 1e12;
  const auto words = words_of(name);
  const auto found = std::ranges::find_if(kGpus, [&](const Gpu& gpu) { return fits(gpu, words); });
  const double rate = found == kGpus.end() ? 0 : rate_of(*found, arithmetic);
  if (rate == 0) {
    return {.flops = 0,
            .source = fmt::format("no rate known of {}, {}", escaped(name), name_of(arithmetic))};
  }
  return {.flops = rate * kTera,
          .source = fmt::format("{}, {}", escaped(name), name_of(arithmetic))};
}

}  // namespace sheaf::train
