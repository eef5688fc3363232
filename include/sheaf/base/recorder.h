#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// What some time was spent on: a phase of a step, a unit's share of it, an exchange between ranks,
/// or waiting for one.
enum class SpanKind : std::uint8_t {
  data,
  forward,
  backward,
  optimizer,
  unit_forward,
  unit_backward,
  collective,
  wait,
};

/// A name that a Recorder keeps; 0 is the empty one.
using Label = std::uint32_t;

/// Stands for the host among streams.
inline constexpr std::int64_t kHostStream = -1;

/// Something that took some time. Times are nanoseconds of Recorder::now().
struct Span {
  SpanKind kind = SpanKind::wait;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// The unit it was done for, where there is one.
  Label unit = 0;
  /// The rest is known of exchanges: which one and what for (names that live for ever), how many
  /// bytes, and which call it was of which group: the same for all ranks that took part.
  std::string_view what;
  std::string_view purpose;
  std::int64_t bytes = 0;
  Label group = 0;
  std::int64_t call = 0;
  /// The device's stream that it occupied.
  std::int64_t stream = kHostStream;
};

/// A moment on a device's own clock, which is known when the device has come there.
class Stamp {
 public:
  virtual ~Stamp() = default;
  [[nodiscard]] virtual bool reached() const = 0;
  /// Returns the nanoseconds since `earlier`, a stamp of the same device; negative if it was later.
  /// Both must have been reached.
  [[nodiscard]] virtual std::int64_t since(const Stamp& earlier) const = 0;
};

/// A moment that both clocks know: how a device's times become times of the host.
struct Origin {
  std::shared_ptr<const Stamp> stamp;
  std::int64_t time = 0;
};

/// A span whose times a device will know.
struct DeviceSpan {
  Span span;
  std::shared_ptr<const Stamp> begin;
  std::shared_ptr<const Stamp> end;
};

/// What one rank did when. A cheap value: copies are the same recorder. Safe to use from many
/// threads. Until somebody listens nothing is kept, and asking costs a nanosecond.
class Recorder {
 public:
  Recorder();

  /// Returns nanoseconds of a clock that all ranks of a host share and that never goes back.
  [[nodiscard]] static std::int64_t now();

  void listen(bool on);
  [[nodiscard]] bool listening() const;

  /// Returns the label of a name, a new one for a new name.
  [[nodiscard]] Label label(std::string_view name);
  [[nodiscard]] std::string name(Label label) const;

  /// Keeps a span while somebody listens. What nobody takes is dropped beyond a million.
  void add(const Span& span);
  /// The same for a span whose times a device will know.
  void add(const Span& span, std::shared_ptr<const Stamp> begin, std::shared_ptr<const Stamp> end);

  /// Returns what has ended since the last call, in no order. Spans of a device come once they were
  /// reached and an origin says how its clock is to be read.
  [[nodiscard]] std::vector<Span> take(const std::optional<Origin>& origin = std::nullopt);
  /// Returns the spans of a device that have not been taken, reached or not.
  [[nodiscard]] std::vector<DeviceSpan> take_unread();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Records the time in which it lives.
class ScopedSpan {
 public:
  ScopedSpan(Recorder recorder, const Span& what);
  ~ScopedSpan();
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  Recorder recorder_;
  Span span_;
};

}  // namespace sheaf
