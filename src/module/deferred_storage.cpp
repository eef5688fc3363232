#include "module/deferred_storage.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <memory>
#include <mutex>

#include "module/data_pointer.h"
#include "module/lazy_zeros.h"

namespace sheaf::module {
namespace {

constexpr auto kKey = c10::DispatchKey::DeferredInit;
// A constant fill of less than this is done at once: it takes no memory worth mentioning, and code
// that goes on with the data pointer works.
constexpr std::size_t kWorthDeferring = kLazyBytes;
// A loop that fills element by element must not write down more than it saves.
constexpr std::size_t kMaxSteps = 4096;

// Operators inside run as if nothing was deferred.
struct Undisturbed {
  c10::impl::ExcludeDispatchKeyGuard no_key{c10::DispatchKeySet(kKey)};
  at::NoGradGuard no_grad;
};

void delete_record(void* record) { delete static_cast<Record*>(record); }

void set_record(c10::StorageImpl& storage, Record record) {
  storage.set_data_ptr_noswap(
      {nullptr, new Record(std::move(record)), &delete_record, c10::Device(at::kCPU)});
  forbid_data_pointer(storage,
                      "this tensor is deferred and has no memory yet; call sheaf::materialize() on "
                      "its model first");
}

// Readers of one tensor may race to be the one that replays; storages share a few locks.
std::mutex& mutex_of(const c10::StorageImpl& storage) {
  static std::array<std::mutex, 61> mutexes;
  return mutexes[reinterpret_cast<std::uintptr_t>(&storage) / alignof(c10::StorageImpl) %
                 mutexes.size()];
}

// To be called with the storage's mutex held.
Record* record_of(c10::StorageImpl& storage) {
  return storage._mutable_data_ptr_no_checks().cast_context<Record>(&delete_record);
}

c10::StorageImpl& storage_of(const at::Tensor& tensor) {
  return *tensor.storage().unsafeGetStorageImpl();
}

c10::Storage make_storage(c10::DataPtr memory, std::size_t num_bytes) {
  return {c10::Storage::use_byte_size_t{},
          num_bytes,
          std::move(memory),
          c10::GetCPUAllocator(),
          /*resizable=*/true};
}

at::Tensor tensor_with_key(const at::Tensor& like, c10::Storage storage) {
  const auto keys = c10::DispatchKeySet(c10::DispatchKey::CPU).add(kKey);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides());
  return tensor;
}

std::size_t num_bytes_for(const at::Tensor& like) {
  return at::detail::computeStorageNbytes(like.sizes(), like.strides(), like.itemsize());
}

std::int64_t flat_size(const c10::StorageImpl& storage, at::ScalarType type) {
  return static_cast<std::int64_t>(storage.nbytes() / c10::elementSize(type));
}

// Returns the values of a deferred storage. To be called with its mutex held.
at::Tensor replayed(c10::StorageImpl& storage, std::optional<Owner> owner) {
  const auto& record = *record_of(storage);
  auto flat = at::empty({flat_size(storage, record.type())}, at::TensorOptions(record.type()));
  record.replay(flat, owner);
  return flat;
}

// Keeps what the storage holds as the first thing that is to be copied into it.
Record record_with_contents(c10::StorageImpl& storage, at::ScalarType type) {
  static const auto copy = c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
  const Undisturbed undisturbed;
  auto contents = at::empty({0}, at::TensorOptions(type));
  contents.set_(
      make_storage(storage.set_data_ptr({}), storage.nbytes()), 0, {flat_size(storage, type)}, {1});
  Record record(type);
  record.append({{copy, {contents, false}}, contents});
  return record;
}

void begin_record(const at::Tensor& self) {
  auto& storage = storage_of(self);
  auto record = covers_storage(self) ? Record(self.scalar_type())
                                     : record_with_contents(storage, self.scalar_type());
  set_record(storage, std::move(record));
}

bool can_begin(const at::Tensor& self, Effect effect) {
  if (effect == Effect::kConstant) return storage_of(self).nbytes() >= kWorthDeferring;
  return effect == Effect::kRandom;
}

// Makes wrong arguments an error where they are given and not where they are used.
void check_arguments(const Fill& fill, at::ScalarType type) {
  const Undisturbed undisturbed;
  fill.run(at::empty({0}, at::TensorOptions(type)));
}

}  // namespace

at::Tensor zeros_with_key(const at::Tensor& like) {
  const auto num_bytes = num_bytes_for(like);
  return tensor_with_key(like, make_storage(lazy_zeros(num_bytes), num_bytes));
}

at::Tensor deferred_tensor(const at::Tensor& like, Record record) {
  auto storage = make_storage({}, num_bytes_for(like));
  set_record(*storage.unsafeGetStorageImpl(), std::move(record));
  return tensor_with_key(like, std::move(storage));
}

bool waits(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return false;
  auto& storage = storage_of(tensor);
  const std::scoped_lock lock(mutex_of(storage));
  return record_of(storage) != nullptr;
}

bool covers_storage(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && tensor.nbytes() == tensor.storage().nbytes();
}

bool write_down(const at::Tensor& self, const Fill& fill, Effect effect) {
  auto& storage = storage_of(self);
  const std::scoped_lock lock(mutex_of(storage));
  if (record_of(storage) == nullptr && !can_begin(self, effect)) return false;
  if (effect != Effect::kChange) check_arguments(fill, self.scalar_type());
  if (record_of(storage) == nullptr) begin_record(self);
  auto& record = *record_of(storage);
  const bool overwrites = effect != Effect::kChange && covers_storage(self);
  if (overwrites) record.restart(self.scalar_type());
  if (record.type() != self.scalar_type() || record.steps().size() >= kMaxSteps) return false;
  const bool random = effect == Effect::kRandom;
  record.append({fill, self, random ? ConstructionScope::of_this_thread().new_draw() : nullptr});
  return true;
}

void replace_record(const at::Tensor& self, Record record) {
  auto& storage = storage_of(self);
  const std::scoped_lock lock(mutex_of(storage));
  set_record(storage, std::move(record));
}

std::optional<Record> copy_record(const at::Tensor& tensor) {
  if (!has_key(tensor) || !covers_storage(tensor)) return std::nullopt;
  auto& storage = storage_of(tensor);
  const std::scoped_lock lock(mutex_of(storage));
  const auto* record = record_of(storage);
  if (record == nullptr || record->type() != tensor.scalar_type()) return std::nullopt;
  for (const auto& step : record->steps()) {
    if (step.draw) ConstructionScope::of_this_thread().was_copied(step.draw);
  }
  return *record;
}

void give_memory(const at::Tensor& tensor, std::optional<Owner> owner) {
  auto& storage = storage_of(tensor);
  const std::scoped_lock lock(mutex_of(storage));
  if (record_of(storage) == nullptr) return;
  const Undisturbed undisturbed;
  const auto flat = replayed(storage, owner);
  allow_data_pointer(storage, storage_of(flat).set_data_ptr({}));
}

bool replay_into(const at::Tensor& tensor, const at::Tensor& target, Owner owner) {
  auto& storage = storage_of(tensor);
  const std::scoped_lock lock(mutex_of(storage));
  const auto* record = record_of(storage);
  if (record == nullptr) return false;
  const Undisturbed undisturbed;
  const bool direct = target.is_cpu() && target.is_contiguous() && tensor.is_contiguous() &&
                      covers_storage(tensor) && target.scalar_type() == record->type() &&
                      tensor.scalar_type() == record->type();
  if (direct) {
    record->replay(target.view(-1), owner);
    return true;
  }
  const auto flat = replayed(storage, owner);
  const auto typed = flat.view(tensor.scalar_type());
  target.copy_(typed.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset()));
  return true;
}

bool has_key(const at::Tensor& tensor) { return tensor.key_set().has(kKey); }

void drop_key(const at::Tensor& tensor) {
  // LibTorch has no function for it; a derived class may name the protected member.
  struct Access : c10::TensorImpl {
    static constexpr auto member() { return &Access::key_set_; }
  };
  auto& keys = tensor.unsafeGetTensorImpl()->*Access::member();
  if (keys.has(kKey)) keys = keys.remove(kKey);
}

}  // namespace sheaf::module
