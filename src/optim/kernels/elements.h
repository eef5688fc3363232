#pragma once

#include <cstdint>

// What kernels are called with. Free of torch: nvcc reads this too.

namespace sheaf::optim {

enum class Type { none, fp32, fp64, fp16, bf16 };

/// The elements that one call steps. Master, gradient and states have the type `type`; a state that
/// the algorithm does not have is null, and so is the copy where copy_type is none.
struct Elements {
  void* master = nullptr;
  const void* gradient = nullptr;
  void* state1 = nullptr;
  void* state2 = nullptr;
  void* copy = nullptr;
  std::int64_t size = 0;
  Type type = Type::fp32;
  Type copy_type = Type::none;
};

/// Numbers of a step of Adam or AdamW; made in double and rounded once to the type of the master.
template <class T>
struct AdamFactors {
  /// What a parameter is multiplied with; 1 for Adam.
  T decay;
  /// How much of a parameter is added to its gradient; 0 for AdamW.
  T gradient_decay;
  T beta1;
  T one_minus_beta1;
  T beta2;
  T one_minus_beta2;
  /// Root of the bias correction of the mean square.
  T root_bias2;
  T epsilon;
  /// Learning rate over the bias correction of the mean.
  T step_size;

  template <class To>
  [[nodiscard]] AdamFactors<To> to() const {
    const auto cast = [](T x) { return static_cast<To>(x); };
    return {cast(decay),
            cast(gradient_decay),
            cast(beta1),
            cast(one_minus_beta1),
            cast(beta2),
            cast(one_minus_beta2),
            cast(root_bias2),
            cast(epsilon),
            cast(step_size)};
  }
};

/// Numbers of a step of SGD.
template <class T>
struct SgdFactors {
  T learning_rate;
  /// How much of a parameter is added to its gradient.
  T gradient_decay;
  /// buffer = keep * buffer + take * gradient
  T keep;
  T take;
  /// direction = gradient + look_ahead * buffer; or the buffer itself if this is 0
  T look_ahead;

  template <class To>
  [[nodiscard]] SgdFactors<To> to() const {
    const auto cast = [](T x) { return static_cast<To>(x); };
    return {cast(learning_rate), cast(gradient_decay), cast(keep), cast(take), cast(look_ahead)};
  }
};

}  // namespace sheaf::optim
