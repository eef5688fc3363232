// A loss of power keeps what was synced and, of the rest, anything: here the least and the most
// confusing. After any operation the old checkpoint or the new one is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>

#include "checkpoint/disk.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using namespace sheaf::testing;

/// A file, folder or link, as the system's memory has it and as the disk does.
struct Node {
  enum class Kind { file, folder, link };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  Kind kind = Kind::file;
  std::string bytes;
  std::string synced_bytes;
  Names names;
  Names synced_names;
};

/// What survives, besides what was synced.
enum class Survives { nothing, names };

void materialise(const Node& folder, const fs::path& path, Survives survives) {
  fs::create_directories(path);
  for (const auto& [name, node] :
       survives == Survives::names ? folder.names : folder.synced_names) {
    switch (node->kind) {
      case Node::Kind::folder:
        materialise(*node, path / name, survives);
        break;
      case Node::Kind::link:
        fs::create_symlink(node->bytes, path / name);
        break;
      case Node::Kind::file:
        std::ofstream(path / name, std::ios::binary) << node->synced_bytes;
        break;
    }
  }
}

/// A real disk that also remembers what would survive a loss of power, and tells after each
/// operation.
class RememberingDisk final : public Disk {
 public:
  RememberingDisk(std::string root, std::function<void(const Node&)> after)
      : root_(std::move(root)), after_(std::move(after)) {
    top_.kind = Node::Kind::folder;
    adopt(top_, root_);
  }

  void make_folder(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Disk::make_folder(path);
    add(path, {.kind = Node::Kind::folder});
  }
  File create(const std::string& path, std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    File file = Disk::create(path, size);
    // Zeros, where the size survives and the bytes do not.
    add(path, {.bytes = std::string(size, '\0'), .synced_bytes = std::string(size, '\0')});
    return file;
  }
  void write(const File& file, std::uint64_t offset, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(mutex_);
    Disk::write(file, offset, bytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    at(file.path()).bytes.replace(offset, text.size(), text);
    after_(top_);
  }
  void sync(const File& file) override {
    const std::lock_guard lock(mutex_);
    Disk::sync(file);
    at(file.path()).synced_bytes = at(file.path()).bytes;
    after_(top_);
  }
  void sync_folder(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Disk::sync_folder(path);
    at(path).synced_names = at(path).names;
    after_(top_);
  }
  void rename(const std::string& from, const std::string& to) override {
    const std::lock_guard lock(mutex_);
    Disk::rename(from, to);
    parent(to).names[fs::path(to).filename()] = parent(from).names.at(fs::path(from).filename());
    parent(from).names.erase(fs::path(from).filename());
    after_(top_);
  }
  void link(const std::string& target, const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Disk::link(target, path);
    add(path, {.kind = Node::Kind::link, .bytes = target});
  }
  void remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Disk::remove(path);
    parent(path).names.erase(fs::path(path).filename());
    after_(top_);
  }

 private:
  void adopt(Node& node, const fs::path& path) {
    for (const auto& each : fs::directory_iterator(path)) {
      auto child = std::make_shared<Node>();
      if (each.is_symlink()) {
        *child = {.kind = Node::Kind::link, .bytes = fs::read_symlink(each.path())};
      } else if (each.is_directory()) {
        child->kind = Node::Kind::folder;
        adopt(*child, each.path());
      } else {
        std::ifstream file(each.path(), std::ios::binary);
        child->bytes.assign(std::istreambuf_iterator<char>(file), {});
        child->synced_bytes = child->bytes;
      }
      node.names[each.path().filename()] = child;
    }
    node.synced_names = node.names;
  }
  Node& at(const fs::path& path) {
    Node* node = &top_;
    for (const fs::path& part : path.lexically_relative(root_)) {
      if (part != ".") node = node->names.at(part).get();
    }
    return *node;
  }
  Node& parent(const fs::path& path) { return at(path.parent_path()); }
  void add(const std::string& path, Node node) {
    parent(path).names[fs::path(path).filename()] = std::make_shared<Node>(std::move(node));
    after_(top_);
  }

  fs::path root_;
  std::function<void(const Node&)> after_;
  Node top_;
  std::mutex mutex_;
};

class PowerLoss : public ::testing::TestWithParam<Survives> {};
INSTANTIATE_TEST_SUITE_P(Survives,
                         PowerLoss,
                         ::testing::Values(Survives::nothing, Survives::names));

TEST_P(PowerLoss, LeavesTheOldOrTheNewCheckpointAfterEveryOperation) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1);
  std::vector<std::int64_t> steps;
  comm::run_ranks(1, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.disk = std::make_shared<RememberingDisk>(folder.path(), [&](const Node& top) {
      const TemporaryFolder after;
      materialise(top, after.path(), GetParam());
      steps.push_back(restored_sample(after.path()));
    });
    save_sample(options, 2);
  });
  ASSERT_GT(steps.size(), 20U);
  EXPECT_EQ(steps.front(), 1);
  EXPECT_EQ(steps.back(), 2);
  // Nothing but the two, and never back to the old one.
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
}

}  // namespace
}  // namespace sheaf::checkpoint
