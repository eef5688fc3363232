#include "checkpoint/failing_disk.h"

namespace sheaf::testing {

using checkpoint::File;

void FailingDisk::ask(Operation operation, const std::string& path) {
  const std::lock_guard lock(mutex_);
  ask_(operation, path);
}

void FailingDisk::make_folder(const std::string& path) {
  ask(Operation::make_folder, path);
  Disk::make_folder(path);
}

File FailingDisk::create(const std::string& path, std::uint64_t size) {
  ask(Operation::create, path);
  return Disk::create(path, size);
}

File FailingDisk::open(const std::string& path) {
  ask(Operation::open, path);
  return Disk::open(path);
}

void FailingDisk::write(const File& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  ask(Operation::write, file.path());
  const std::size_t half = bytes.size() / 2;
  Disk::write(file, offset, bytes.first(half));
  ask(Operation::write, file.path());
  Disk::write(file, offset + half, bytes.subspan(half));
}

void FailingDisk::read(const File& file, std::uint64_t offset, std::span<std::byte> bytes) {
  ask(Operation::read, file.path());
  Disk::read(file, offset, bytes);
}

void FailingDisk::sync(const File& file) {
  ask(Operation::sync, file.path());
  Disk::sync(file);
}

void FailingDisk::sync_folder(const std::string& path) {
  ask(Operation::sync_folder, path);
  Disk::sync_folder(path);
}

void FailingDisk::rename(const std::string& from, const std::string& to) {
  ask(Operation::rename, to);
  Disk::rename(from, to);
}

void FailingDisk::link(const std::string& target, const std::string& path) {
  ask(Operation::link, path);
  Disk::link(target, path);
}

void FailingDisk::remove(const std::string& path) {
  ask(Operation::remove, path);
  Disk::remove(path);
}

}  // namespace sheaf::testing
