#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace sheaf::module {

/// Finds the tensors in a value of type T: `kAny` tells whether there may be some, `visit` calls
/// `visitor` with each of them, as an lvalue, in order.
template <class T>
struct TensorsIn {
  static constexpr bool kAny = false;
  template <class Value, class Visitor>
  static void visit(Value& /*value*/, const Visitor& /*visitor*/) {}
};

template <>
struct TensorsIn<at::Tensor> {
  static constexpr bool kAny = true;
  template <class Visitor>
  static void visit(at::Tensor& value, const Visitor& visitor) {
    visitor(value);
  }
};

template <class T>
struct TensorsIn<std::optional<T>> {
  static constexpr bool kAny = TensorsIn<T>::kAny;
  template <class Visitor>
  static void visit(std::optional<T>& value, const Visitor& visitor) {
    if (value) TensorsIn<T>::visit(*value, visitor);
  }
};

/// For containers whose elements are of one type.
template <class Container>
struct TensorsInElements {
  using Element = typename Container::value_type;
  static constexpr bool kAny = TensorsIn<Element>::kAny;
  template <class Visitor>
  static void visit(Container& value, const Visitor& visitor) {
    if constexpr (kAny) {
      for (Element& element : value) TensorsIn<Element>::visit(element, visitor);
    }
  }
};

template <class T>
struct TensorsIn<std::vector<T>> : TensorsInElements<std::vector<T>> {};

template <class T, std::size_t kSize>
struct TensorsIn<std::array<T, kSize>> : TensorsInElements<std::array<T, kSize>> {};

template <class... Ts>
struct TensorsIn<std::tuple<Ts...>> {
  static constexpr bool kAny = (TensorsIn<Ts>::kAny || ...);
  template <class Visitor>
  static void visit(std::tuple<Ts...>& value, const Visitor& visitor) {
    std::apply([&](auto&... elements) { (TensorsIn<Ts>::visit(elements, visitor), ...); }, value);
  }
};

template <class First, class Second>
struct TensorsIn<std::pair<First, Second>> {
  static constexpr bool kAny = TensorsIn<First>::kAny || TensorsIn<Second>::kAny;
  template <class Visitor>
  static void visit(std::pair<First, Second>& value, const Visitor& visitor) {
    TensorsIn<First>::visit(value.first, visitor);
    TensorsIn<Second>::visit(value.second, visitor);
  }
};

/// Tells whether a value of this type, reference or not, may have tensors in it.
template <class T>
inline constexpr bool kHoldsTensors = TensorsIn<std::decay_t<T>>::kAny;

/// Moves the tensors out of a value, which keeps undefined ones in their place.
template <class T>
[[nodiscard]] std::vector<at::Tensor> take_tensors(T& value) {
  std::vector<at::Tensor> taken;
  TensorsIn<T>::visit(value, [&](at::Tensor& tensor) { taken.push_back(std::move(tensor)); });
  return taken;
}

/// Puts tensors into a value that has places for as many.
template <class T>
void put_tensors(T& value, const std::vector<at::Tensor>& tensors) {
  std::size_t next = 0;
  TensorsIn<T>::visit(value, [&](at::Tensor& place) {
    TORCH_INTERNAL_ASSERT(next < tensors.size(), "a claim gave ", tensors.size(), " tensors");
    place = tensors[next++];
  });
  TORCH_INTERNAL_ASSERT(
      next == tensors.size(), "a claim gave ", tensors.size(), " tensors for ", next);
}

}  // namespace sheaf::module
