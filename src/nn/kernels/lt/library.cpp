#include "library.h"

#include <cublas_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>
#include <string>

namespace sheaf::nn::lt {
namespace {

template <class Function>
bool find(void* from, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(from, name));
  return function != nullptr;
}

std::optional<Library> look_up() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  // LibTorch has loaded it and keeps it.
  void* const from = dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (from == nullptr) return std::nullopt;
  Library all;
  const bool complete = find(from, "cublasLtMatmulDescInit_internal", all.init_product) &&
                        find(from, "cublasLtMatmulDescSetAttribute", all.set_of_product) &&
                        find(from, "cublasLtMatrixLayoutInit_internal", all.init_matrix) &&
                        find(from, "cublasLtMatmulPreferenceInit_internal", all.init_preference) &&
                        find(from, "cublasLtMatmulPreferenceSetAttribute", all.set_of_preference) &&
                        find(from, "cublasLtMatmulAlgoGetHeuristic", all.propose) &&
                        find(from, "cublasLtMatmul", all.multiply) &&
                        find(from, "cublasLtGetVersion", all.version);
  dlclose(from);
  return complete ? std::optional(all) : std::nullopt;
}

}  // namespace

const Library* library() {
  static const std::optional<Library> kFound = look_up();
  return kFound ? &*kFound : nullptr;
}

}  // namespace sheaf::nn::lt
