#include "module/lazy_zeros.h"

#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "sheaf/base/error.h"

namespace sheaf::module {
namespace {

struct Mapping {
  void* begin = nullptr;
  std::size_t size = 0;
};

void unmap(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  ::munmap(mapping->begin, mapping->size);
}

}  // namespace

c10::DataPtr lazy_zeros(std::size_t num_bytes) {
  if (num_bytes < kLazyBytes) {
    auto memory = c10::GetCPUAllocator()->allocate(num_bytes);
    if (num_bytes > 0) std::memset(memory.get(), 0, num_bytes);
    return memory;
  }
  // Without a reservation one tensor may be larger than the machine's memory.
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* begin = ::mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (begin == MAP_FAILED) {
    throw Error(
        fmt::format("the system has no address space left for a tensor of {} bytes", num_bytes));
  }
  return {begin, new Mapping{begin, num_bytes}, &unmap, c10::Device(c10::DeviceType::CPU)};
}

}  // namespace sheaf::module
