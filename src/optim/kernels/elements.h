#pragma once

#include <cstdint>

// What kernels are called with. Free of torch: nvcc reads this too.

namespace sheaf::optim {

enum class Type { none, fp32, fp64, fp16, bf16 };

/// The elements that one call steps. A state that the algorithm does not have is null, and so is
/// the copy where copy_type is none. Beside an fp64 master all is fp64 but the copy; beside an fp32
/// or a bf16 one, gradient and states are fp32 or bf16. Arithmetic is in fp32, or fp64 for fp64.
struct Elements {
  void* master = nullptr;
  const void* gradient = nullptr;
  void* state1 = nullptr;
  void* state2 = nullptr;
  void* copy = nullptr;
  std::int64_t size = 0;
  /// Of the master.
  Type type = Type::fp32;
  Type copy_type = Type::none;
  /// none: as the master.
  Type gradient_type = Type::none;
  Type state_type = Type::none;
  /// What each gradient is multiplied with, beside the elements; null: with nothing.
  const double* gradient_scale = nullptr;
};

[[nodiscard]] constexpr Type gradient_type_of(const Elements& all) {
  return all.gradient_type == Type::none ? all.type : all.gradient_type;
}

[[nodiscard]] constexpr Type state_type_of(const Elements& all) {
  return all.state_type == Type::none ? all.type : all.state_type;
}

/// The types of master, gradient and states as constants.
template <Type kMasterType, Type kGradientType, Type kStateType>
struct Types {
  static constexpr Type kMaster = kMasterType;
  static constexpr Type kGradient = kGradientType;
  static constexpr Type kState = kStateType;
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
  [[nodiscard]] constexpr AdamFactors<To> to() const {
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
  [[nodiscard]] constexpr SgdFactors<To> to() const {
    const auto cast = [](T x) { return static_cast<To>(x); };
    return {cast(learning_rate), cast(gradient_decay), cast(keep), cast(take), cast(look_ahead)};
  }
};

}  // namespace sheaf::optim
