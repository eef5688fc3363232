#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "module/deferred_record.h"

namespace sheaf::module {

/// Note [Deferred storages]
///
/// A deferred storage has a size, no memory, and its Record in the place where the owner of the
/// memory would be. So the record dies with the storage, there is no table, and whoever takes the
/// data pointer without an operator gets an error from LibTorch instead of wrong values.
///
/// Every tensor made inside DeferredConstruction by a factory function carries the dispatch key
/// DeferredInit, which views and detached copies inherit. By it operators are caught outside of the
/// scope too, on any thread. A storage becomes deferred only through a tensor with the key, because
/// then all others that share it have the key as well.
///
/// The functions below are safe to call from many threads.

/// What a fill does to what was there before.
enum class Effect { kConstant, kRandom, kChange };

/// Makes a CPU tensor with the key and with the geometry and type of `like`. Its memory is zero;
/// where it is large, pages that nobody writes to take no memory.
[[nodiscard]] at::Tensor zeros_with_key(const at::Tensor& like);

/// Makes a tensor with the key and with the geometry of `like` that waits for what the record says.
[[nodiscard]] at::Tensor deferred_tensor(const at::Tensor& like, Record record);

/// Tells whether a storage is deferred.
[[nodiscard]] bool waits(const at::Tensor& tensor);
/// Tells whether a tensor is all of its storage, each element once.
[[nodiscard]] bool covers_storage(const at::Tensor& tensor);

/// Writes down a fill of `self`, a CPU tensor with the key; false if it has to be done at once.
[[nodiscard]] bool write_down(const at::Tensor& self, const Fill& fill, Effect effect);
/// Puts `record` in the place of whatever `self`, which covers its storage, held or waited for.
void replace_record(const at::Tensor& self, Record record);
/// Returns what was written down for a tensor that covers its storage; none if it is not deferred.
[[nodiscard]] std::optional<Record> copy_record(const at::Tensor& tensor);

/// Does what was written down for the tensor's storage, in place; nothing if it is not deferred.
void give_memory(const at::Tensor& tensor, std::optional<Owner> owner);
/// Does what was written down to `target`; false if `tensor` is not deferred.
[[nodiscard]] bool replay_into(const at::Tensor& tensor, const at::Tensor& target, Owner owner);

[[nodiscard]] bool has_key(const at::Tensor& tensor);
/// Takes the key from a tensor that is not deferred, so that operators on it cost nothing more.
void drop_key(const at::Tensor& tensor);

}  // namespace sheaf::module
