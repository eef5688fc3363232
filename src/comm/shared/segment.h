#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sheaf::comm::shared {

/// Whether the ranks of a group are processes or threads of one process.
enum class Ranks { processes, threads };

/// A piece of zeroed memory that every rank of a group can reach.
///
/// Between processes it is a memory file without a name: nothing is ever visible in /dev/shm, so
/// nothing is left behind by any death, and the size of /dev/shm (64 MB in a default container) is
/// no limit. Between threads it is plain memory.
class Segment {
 public:
  /// What one rank tells the others so that they can open its segment.
  using Ticket = std::array<std::int64_t, 2>;

  /// Makes a new segment. Throws IoError when the system refuses.
  static std::shared_ptr<Segment> create(Ranks ranks, std::size_t bytes);
  /// Opens what another rank created; its creator must not call close_door() before. Throws
  /// IoError.
  static std::shared_ptr<Segment> open(Ranks ranks, std::size_t bytes, const Ticket& ticket);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  /// Returns the ticket; valid until close_door(), which the creator calls once all have opened it.
  [[nodiscard]] Ticket ticket() const;
  void close_door();

 private:
  explicit Segment(std::size_t bytes) : bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  /// The memory file, while others may still open it.
  int file_ = -1;
  /// For threads: what a ticket points to.
  std::weak_ptr<Segment> self_;
};

}  // namespace sheaf::comm::shared
