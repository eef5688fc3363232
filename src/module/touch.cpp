#include "sheaf/module/touch.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace sheaf::module {
namespace {

using Callee = std::shared_ptr<const std::function<void()>>;
using Callees = c10::SmallVector<Callee, 4>;

struct Watched {
  // Not to keep the memory, but so that nothing else gets the same address.
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  Callee touched;
};

// What is watched in the whole process: autograd has threads of its own.
struct Watches {
  std::shared_mutex mutex;
  std::unordered_multimap<const void*, Watched> by_storage;
  at::CallbackHandle callback = 0;
};

// Never destroyed, so that watches may be static objects themselves.
Watches& watches() {
  static auto* const all = new Watches;
  return *all;
}

// Counted in the whole process, so that operators of two threads never have the same number.
std::atomic<std::uint64_t> num_operators{0};
thread_local std::uint64_t current_operator = 0;

void add_callees(const c10::TensorImpl* tensor, Callees& callees) {
  if (!tensor->has_storage()) return;
  const auto& table = watches().by_storage;
  const auto [begin, end] = table.equal_range(tensor->unsafe_storage().unsafeGetStorageImpl());
  for (auto found = begin; found != end; ++found) {
    const Callee& callee = found->second.touched;
    if (std::find(callees.begin(), callees.end(), callee) == callees.end()) {
      callees.push_back(callee);
    }
  }
}

void add_callees(const c10::IValue& input, Callees& callees) {
  if (input.isTensor()) {
    add_callees(input.unsafeToTensorImpl(), callees);
  } else if (input.isTensorList() || input.isOptionalTensorList()) {
    for (const c10::IValue& element : input.toListRef()) add_callees(element, callees);
  }
}

/// Reports one operator.
void call_all(const Callees& callees) {
  if (callees.empty()) return;
  current_operator = ++num_operators;
  const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
  for (const Callee& callee : callees) (*callee)();
}

std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& record) {
  Callees callees;
  {
    const std::shared_lock lock(watches().mutex);
    for (const c10::IValue& input : record.inputs()) add_callees(input, callees);
  }
  call_all(callees);
  return nullptr;
}

at::CallbackHandle observe_operators() {
  return at::addGlobalCallback(
      at::RecordFunctionCallback(&before_operator)
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

}  // namespace

TouchWatch::TouchWatch(const at::Tensor& tensor, std::function<void()> touched)
    : storage_(tensor.storage().unsafeGetStorageImpl()),
      touched_(std::make_shared<const std::function<void()>>(std::move(touched))) {
  Watches& all = watches();
  Watched watched{tensor.storage().getWeakStorageImpl(), touched_};
  const std::unique_lock lock(all.mutex);
  all.by_storage.emplace(storage_, std::move(watched));
  if (all.by_storage.size() == 1) all.callback = observe_operators();
}

TouchWatch::TouchWatch(TouchWatch&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)), touched_(std::move(other.touched_)) {}

TouchWatch& TouchWatch::operator=(TouchWatch&& other) noexcept {
  if (this == &other) return *this;
  stop();
  storage_ = std::exchange(other.storage_, nullptr);
  touched_ = std::move(other.touched_);
  return *this;
}

TouchWatch::~TouchWatch() { stop(); }

void TouchWatch::stop() noexcept {
  if (!touched_) return;
  // Destroyed last, without the lock: what the callee holds may be a watch itself.
  const Callee callee = std::move(touched_);
  Watches& all = watches();
  const std::unique_lock lock(all.mutex);
  const auto [begin, end] = all.by_storage.equal_range(storage_);
  const auto own =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second.touched == callee; });
  all.by_storage.erase(own);
  if (all.by_storage.empty()) at::removeCallback(all.callback);
}

std::uint64_t touching_operator() { return current_operator; }

void touch(at::TensorList tensors) {
  if (!at::isRecordFunctionEnabled()) return;
  Callees callees;
  {
    const std::shared_lock lock(watches().mutex);
    if (watches().by_storage.empty()) return;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.defined()) add_callees(tensor.unsafeGetTensorImpl(), callees);
    }
  }
  call_all(callees);
}

}  // namespace sheaf::module
