#include "data/digits.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "data/idx_file.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

constexpr std::int64_t kPixels = Digits::kSide * Digits::kSide;

std::vector<std::byte> read_images(const std::string& path) {
  auto file = read_idx_file(path, 3);
  if (file.shape[1] != Digits::kSide || file.shape[2] != Digits::kSide) {
    throw UsageError(fmt::format("expected images of 28 by 28 pixels, got {} by {}: {}",
                                 file.shape[1],
                                 file.shape[2],
                                 path));
  }
  return std::move(file.elements);
}

std::vector<std::byte> read_labels(const std::string& path) {
  auto labels = read_idx_file(path, 1).elements;
  const auto wrong = std::find_if(labels.begin(), labels.end(), [](std::byte label) {
    return std::to_integer<std::int64_t>(label) >= Digits::kClasses;
  });
  if (wrong != labels.end()) {
    throw UsageError(fmt::format("label {} must be from 0 to 9, got {}: {}",
                                 wrong - labels.begin(),
                                 std::to_integer<int>(*wrong),
                                 path));
  }
  return labels;
}

}  // namespace

Digits::Digits(const std::string& images_path, const std::string& labels_path)
    : images_(read_images(images_path)), labels_(read_labels(labels_path)) {
  const std::size_t images = images_.size() / kPixels;
  if (images != labels_.size()) {
    throw UsageError(fmt::format(
        "{} images have {} labels: {} and {}", images, labels_.size(), images_path, labels_path));
  }
}

Rows Digits::make_batch(std::int64_t count) const {
  return {.inputs = at::empty({count, kSide, kSide}, at::kByte),
          .targets = at::empty({count}, at::kLong)};
}

void Digits::fill(std::int64_t index, std::int64_t row, const Rows& rows) const {
  TORCH_INTERNAL_ASSERT(index >= 0 && index < size() && row >= 0 && row < rows.inputs.size(0));
  std::memcpy(rows.inputs.mutable_data_ptr<std::uint8_t>() + row * kPixels,
              images_.data() + index * kPixels,
              kPixels);
  rows.targets.mutable_data_ptr<std::int64_t>()[row] =
      std::to_integer<std::int64_t>(labels_[static_cast<std::size_t>(index)]);
}

std::string find_digits_file(const std::string& folder,
                             const std::string& part,
                             const std::string& kind) {
  std::string dotted = kind;
  std::replace(dotted.begin(), dotted.end(), '-', '.');
  const std::string usual = fmt::format("{}-{}-ubyte", part, kind);
  for (const std::string& name : {usual, fmt::format("{}-{}-ubyte", part, dotted)}) {
    for (const char* ending : {"", ".gz"}) {
      const auto path = std::filesystem::path(folder) / (name + ending);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path.string();
    }
  }
  throw UsageError(
      fmt::format("there is no file {} or {}.gz in the folder, make it with './dev data mnist': {}",
                  usual,
                  usual,
                  folder));
}

}  // namespace sheaf::data
