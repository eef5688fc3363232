#include "sheaf/launch/progress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launch/progress_board.h"

namespace sheaf::launch {

Progress::Progress() {
  const char* ticket = std::getenv("SHEAF_PROGRESS");
  int fd = -1;
  int index = -1;
  if (ticket == nullptr || std::sscanf(ticket, "%d:%d", &fd, &index) != 2 || index < 0) return;
  // Whoever stands between the launcher and this process may have closed the descriptor, and
  // another file may have its number now.
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < BoardLayout::bytes(index + 1)) return;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  size_ = size;
  if (std::memcmp(memory, &BoardLayout::kMark, sizeof(BoardLayout::kMark)) != 0) return;
  own_ = BoardLayout::entry(static_cast<std::byte*>(memory), index);
}

Progress::~Progress() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

void Progress::report(std::int64_t step) {
  if (own_ != nullptr) own_->store(step + 1, std::memory_order_relaxed);
}

}  // namespace sheaf::launch
