#include "fused_product_cuda.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <c10/cuda/CUDAGuard.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "lt/choices.h"
#include "lt/descriptors.h"
#include "lt/library.h"
#include "lt/search.h"

namespace sheaf::nn {
namespace {

/// Products below this many operations take what the library proposes: there is little to win.
constexpr double kWorthSearching = 1e9;

bool is_aligned(const at::Tensor& tensor, std::int64_t leading) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  return address % lt::kAlignment == 0 && leading * tensor.element_size() % lt::kAlignment == 0;
}

std::optional<lt::Matrix> matrix_of(const at::Tensor& tensor) {
  const bool rows = tensor.stride(1) == 1 && tensor.stride(0) >= tensor.size(1);
  const bool columns = tensor.stride(0) == 1 && tensor.stride(1) >= tensor.size(0);
  if (!rows && !columns) return std::nullopt;
  const std::int64_t leading = rows ? tensor.stride(0) : tensor.stride(1);
  // The fast algorithms read and write whole vectors; others are ATen's business.
  if (!is_aligned(tensor, leading)) return std::nullopt;
  return lt::Matrix{leading, !rows};
}

bool rounds_to_tf32() {
  return at::globalContext().float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL) ==
         at::Float32Precision::TF32;
}

/// Full fp32 is left to LibTorch: who asks for it wants the sums that it takes elsewhere, and not
/// others in each run that finds another algorithm faster. There is no tensor core to keep busy.
bool is_supported(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf || (type == at::kFloat && rounds_to_tf32());
}

/// Returns nothing where the product cannot be described.
std::optional<lt::Shape> shape_of(const FusedProduct& product) {
  const at::ScalarType factors = product.a.scalar_type();
  const at::ScalarType result = product.result.scalar_type();
  if (!is_supported(factors) || product.b.scalar_type() != factors ||
      (result != factors && result != at::kFloat) || product.result.numel() == 0 ||
      product.a.size(1) == 0) {
    return std::nullopt;
  }
  const auto a = matrix_of(product.a), b = matrix_of(product.b), d = matrix_of(product.result);
  if (!a || !b || !d || d->columns) return std::nullopt;
  lt::Shape shape{.m = product.a.size(0),
                  .n = product.b.size(1),
                  .k = product.a.size(1),
                  .factors = factors,
                  .result = result,
                  .a = *a,
                  .b = *b,
                  .d = *d,
                  .c = *d,
                  .adds = product.adds || product.residual.defined(),
                  .bias = product.bias.defined(),
                  .tf32 = factors == at::kFloat,
                  .gelu = product.inner.defined()};
  if (product.adds && product.residual.defined()) return std::nullopt;
  if (product.residual.defined()) {
    const auto c = matrix_of(product.residual);
    if (!c || c->columns || product.residual.scalar_type() != result) return std::nullopt;
    shape.c = *c;
  }
  if (product.inner.defined()) {
    const auto inner = matrix_of(product.inner);
    if (!inner || inner->columns || result != factors) return std::nullopt;
    shape.inner = *inner;
  }
  if (shape.bias && product.bias.scalar_type() != factors) return std::nullopt;
  shape.guessed = at::globalContext().deterministicAlgorithms();
  shape.workspace = lt::workspace_limit(shape);
  return shape;
}

lt::Memory memory_of(const FusedProduct& product) {
  const auto address = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr() : nullptr;
  };
  return {.a = product.a.const_data_ptr(),
          .b = product.b.const_data_ptr(),
          .c = product.residual.defined() ? product.residual.const_data_ptr()
                                          : product.result.const_data_ptr(),
          .d = product.result.mutable_data_ptr(),
          .bias = address(product.bias),
          .inner = address(product.inner)};
}

lt::Choices& choices_of(const lt::Library& library) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<lt::Choices>> all;
  const std::string name = at::cuda::getCurrentDeviceProperties()->name;
  const std::lock_guard lock(mutex);
  auto& choices = all[name];
  if (!choices) {
    choices = std::make_unique<lt::Choices>(lt::choices_file(name, library.version()));
  }
  return *choices;
}

bool is_capturing() {
  return at::cuda::currentStreamCaptureStatusMayInitCtx() != at::cuda::CaptureStatus::None;
}

/// Measures with memory of its own for all that is written.
std::optional<lt::Choice> measure(const lt::Library& library,
                                  const lt::Shape& shape,
                                  FusedProduct product) {
  if (product.adds) product.residual = product.result;
  product.adds = false;
  product.result =
      at::empty_strided(product.result.sizes(), product.result.strides(), product.result.options());
  if (product.inner.defined()) product.inner = at::empty_like(product.inner);
  return lt::fastest(library, shape, memory_of(product));
}

std::optional<lt::Choice> choose(const lt::Library& library,
                                 const lt::Shape& shape,
                                 const FusedProduct& product) {
  lt::Choices& choices = choices_of(library);
  if (const auto known = choices.find(shape)) return known;
  const lt::Memory memory = memory_of(product);
  const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                            static_cast<double>(shape.k);
  const bool searches = operations >= kWorthSearching && !shape.guessed && !is_capturing();
  const auto found =
      searches ? measure(library, shape, product) : lt::first_guess(library, shape, memory);
  if (found && !is_capturing()) choices.add(shape, *found, /*lasting=*/searches);
  return found;
}

bool run(const lt::Library& library,
         const lt::Shape& shape,
         const lt::Memory& memory,
         const lt::Choice& choice) {
  lt::Descriptors call(library, shape, memory);
  void* workspace = at::cuda::getCUDABlasLtWorkspace();
  std::size_t size = at::cuda::getCUDABlasLtWorkspaceSize();
  at::Tensor larger;
  if (choice.workspace > size) {
    size = choice.workspace;
    larger = lt::room_for(size);
    if (!larger.defined()) return false;
    workspace = larger.mutable_data_ptr();
  }
  return call.run(at::cuda::getCurrentCUDABlasLtHandle(),
                  choice.algorithm,
                  workspace,
                  size,
                  at::cuda::getCurrentCUDAStream());
}

}  // namespace

bool product_on_cuda(const FusedProduct& product) {
  const lt::Library* const library = lt::library();
  if (library == nullptr) return false;
  const auto shape = shape_of(product);
  if (!shape) return false;
  const c10::cuda::CUDAGuard guard(product.a.device());
  const lt::Memory memory = memory_of(product);
  const auto choice = choose(*library, *shape, product);
  if (!choice) return false;
  if (run(*library, *shape, memory, *choice)) return true;
  // What a file says may not be true any more, or there is no memory for it now.
  const auto other = lt::first_guess(*library, *shape, memory);
  if (!other || !run(*library, *shape, memory, *other)) return false;
  const bool needed_more = choice->workspace > at::cuda::getCUDABlasLtWorkspaceSize();
  choices_of(*library).add(*shape, *other, /*lasting=*/!needed_more);
  return true;
}

}  // namespace sheaf::nn
