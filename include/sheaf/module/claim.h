#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace torch::nn {
class Module;
}

namespace sheaf::module {

using Tensors = std::vector<at::Tensor>;

/// Someone who wants to be there when a module runs: sharding, recomputation, offloading.
class Claim {
 public:
  virtual ~Claim() = default;

  /// Runs the module: calls `forward` with the inputs, or with others in their place, and returns
  /// its outputs, or others in their place. The tensors are those found in the arguments and the
  /// result of the module's own forward, in order; undefined ones are kept. Both lists may change
  /// in content, not in length.
  ///
  /// `forward` may be called again, also later through a copy: it owns what it needs but for the
  /// module and for arguments without tensors that were passed as lvalues.
  virtual Tensors run(const Tensors& inputs,
                      const std::function<Tensors(const Tensors&)>& forward) = 0;
};

/// Keeps a claim in force; destroying it withdraws the claim. A claim ends with its module, too, if
/// that is owned by a std::shared_ptr, as modules usually are; any other must outlive the handle.
class ClaimHandle {
 public:
  ClaimHandle() = default;
  ClaimHandle(ClaimHandle&& other) noexcept;
  ClaimHandle& operator=(ClaimHandle&& other) noexcept;
  ~ClaimHandle();

 private:
  void withdraw() noexcept;
  friend ClaimHandle claim(const torch::nn::Module& module, std::shared_ptr<Claim> claim);
  const torch::nn::Module* module_ = nullptr;
  std::shared_ptr<Claim> claim_;
};

/// Puts a claim on a module, which takes effect where it is run by sheaf::forward. Of several
/// claims the first is the outermost. Safe to use from many threads.
[[nodiscard]] ClaimHandle claim(const torch::nn::Module& module, std::shared_ptr<Claim> claim);

using Claims = std::vector<std::shared_ptr<Claim>>;

/// Returns who has claimed a module; null if nobody has.
[[nodiscard]] std::shared_ptr<const Claims> claims_on(const torch::nn::Module& module);

/// Runs `forward` within all of the claims, the first outermost.
[[nodiscard]] Tensors run_claims(const Claims& claims,
                                 const Tensors& inputs,
                                 std::function<Tensors(const Tensors&)> forward);

}  // namespace sheaf::module
