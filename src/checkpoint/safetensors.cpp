#include "sheaf/checkpoint/safetensors.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/mapped_file.h"
#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "checkpoint/safetensors_header.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

// Copied at a time: small beside any unit, large beside the cost of a call.
constexpr std::int64_t kPieceBytes = 1 << 20;

SafetensorsHeader read_header(const MappedFile& file, const std::string& path) {
  try {
    SafetensorsHeader header = parse_header(file.bytes());
    file.release(0, file.bytes().size());
    return header;
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix(path + ": "));
  }
}

/// Copies bytes, which may lie anywhere in memory, to a tensor of any type.
void copy_piece(std::span<const std::byte> bytes, at::ScalarType dtype, const at::Tensor& target) {
  const bool direct = target.is_cpu() && target.scalar_type() == dtype;
  const at::Tensor piece = direct ? target : at::empty({target.numel()}, dtype);
  std::memcpy(piece.mutable_data_ptr(), bytes.data(), bytes.size());
  if (!direct) target.copy_(piece);
}

}  // namespace

std::int64_t TensorSpec::numel() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

struct SafetensorsFile::Impl {
  explicit Impl(const std::string& path) : file(path), header(read_header(file, path)) {
    for (std::size_t i = 0; i < header.tensors.size(); ++i) {
      by_name.emplace(header.tensors[i].tensor.name, i);
    }
  }

  MappedFile file;
  SafetensorsHeader header;
  std::unordered_map<std::string_view, std::size_t> by_name;
};

SafetensorsFile::SafetensorsFile(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;

const std::vector<TensorEntry>& SafetensorsFile::tensors() const { return impl_->header.tensors; }

const Metadata& SafetensorsFile::metadata() const { return impl_->header.metadata; }

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = impl_->by_name.find(name);
  return found == impl_->by_name.end() ? nullptr : &impl_->header.tensors[found->second];
}

void SafetensorsFile::read(const TensorEntry& entry,
                           std::int64_t begin,
                           const at::Tensor& target) const {
  const std::int64_t count = target.numel();
  if (begin < 0 || begin > entry.tensor.numel() || count > entry.tensor.numel() - begin) {
    throw UsageError(fmt::format("{} has {} elements, asked for {} from {} on",
                                 in_quotes(entry.tensor.name),
                                 entry.tensor.numel(),
                                 count,
                                 begin));
  }
  const std::int64_t width = dtype_size(entry.tensor.dtype);
  for (std::int64_t done = 0; done < count; done += kPieceBytes / width) {
    const std::int64_t size = std::min(kPieceBytes / width, count - done);
    const auto at = entry.begin + static_cast<std::uint64_t>((begin + done) * width);
    const auto bytes = static_cast<std::uint64_t>(size * width);
    copy_piece(
        impl_->file.bytes().subspan(at, bytes), entry.tensor.dtype, target.narrow(0, done, size));
    impl_->file.release(at, bytes);
  }
}

}  // namespace sheaf::checkpoint
