#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <string>

#include "checkpoint/disk.h"

namespace sheaf::testing {

/// What a disk does, in one word each.
enum class Operation {
  make_folder,
  create,
  open,
  write,
  read,
  sync,
  sync_folder,
  rename,
  link,
  remove
};

/// A real disk that asks before each operation, one at a time; whoever is asked may throw, or never
/// return. Writes are asked for twice, the second time in their middle.
class FailingDisk final : public checkpoint::Disk {
 public:
  using Ask = std::function<void(Operation operation, const std::string& path)>;

  explicit FailingDisk(Ask ask) : ask_(std::move(ask)) {}

  void make_folder(const std::string& path) override;
  checkpoint::File create(const std::string& path, std::uint64_t size) override;
  checkpoint::File open(const std::string& path) override;
  void write(const checkpoint::File& file,
             std::uint64_t offset,
             std::span<const std::byte> bytes) override;
  void read(const checkpoint::File& file,
            std::uint64_t offset,
            std::span<std::byte> bytes) override;
  void sync(const checkpoint::File& file) override;
  void sync_folder(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void link(const std::string& target, const std::string& path) override;
  void remove(const std::string& path) override;

 private:
  void ask(Operation operation, const std::string& path);

  Ask ask_;
  std::mutex mutex_;
};

}  // namespace sheaf::testing
