#include "launch/progress_board.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw IoError(what + ": " + std::strerror(errno));
}

}  // namespace

ProgressBoard::ProgressBoard(int ranks)
    : ranks_(ranks), file_(::memfd_create("sheaf progress", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const std::size_t size = BoardLayout::bytes(ranks);
  if (!file_.is_open() || ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
    fail("cannot make memory for the ranks' progress");
  }
  // A rank that cut the file off would make this process read what is not there.
  ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) fail("cannot map memory for the ranks' progress");
  memory_ = static_cast<std::byte*>(memory);
  std::memcpy(memory_, &BoardLayout::kMark, sizeof(BoardLayout::kMark));
}

ProgressBoard::~ProgressBoard() { ::munmap(memory_, BoardLayout::bytes(ranks_)); }

std::string ProgressBoard::ticket(int index) const {
  return std::to_string(file_.get()) + ":" + std::to_string(index);
}

std::optional<std::int64_t> ProgressBoard::step(int index) const {
  const std::int64_t entry = BoardLayout::entry(memory_, index)->load();
  return entry == 0 ? std::nullopt : std::optional(entry - 1);
}

std::int64_t ProgressBoard::furthest() const {
  std::int64_t furthest = -1;
  for (int i = 0; i < ranks_; ++i) furthest = std::max(furthest, step(i).value_or(-1));
  return furthest;
}

}  // namespace sheaf::launch
