#include "sheaf/base/recorder.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

namespace sheaf {
namespace {

constexpr std::size_t kMostSpans = std::size_t{1} << 20;

}  // namespace

struct Recorder::State {
  std::atomic<bool> listening = false;
  mutable std::mutex mutex;
  std::vector<std::string> names = {""};
  std::map<std::string, Label, std::less<>> labels;
  std::vector<Span> spans;
  std::vector<DeviceSpan> device_spans;
};

Recorder::Recorder() : state_(std::make_shared<State>()) {}

std::int64_t Recorder::now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Recorder::listen(bool on) {
  state_->listening.store(on, std::memory_order_relaxed);
  if (on) return;
  const std::lock_guard lock(state_->mutex);
  state_->spans.clear();
  state_->device_spans.clear();
}

bool Recorder::listening() const { return state_->listening.load(std::memory_order_relaxed); }

Label Recorder::label(std::string_view name) {
  if (name.empty()) return 0;
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->labels.find(name);
  if (known != state_->labels.end()) return known->second;
  const auto label = static_cast<Label>(state_->names.size());
  state_->labels.emplace(name, label);
  state_->names.emplace_back(name);
  return label;
}

std::string Recorder::name(Label label) const {
  const std::lock_guard lock(state_->mutex);
  return state_->names.at(label);
}

void Recorder::add(const Span& span) {
  if (!listening()) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->spans.size() < kMostSpans) state_->spans.push_back(span);
}

void Recorder::add(const Span& span,
                   std::shared_ptr<const Stamp> begin,
                   std::shared_ptr<const Stamp> end) {
  if (!listening()) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->device_spans.size() >= kMostSpans) return;
  state_->device_spans.push_back({span, std::move(begin), std::move(end)});
}

std::vector<Span> Recorder::take(const std::optional<Origin>& origin) {
  std::vector<Span> taken;
  std::vector<DeviceSpan> waiting;
  {
    const std::lock_guard lock(state_->mutex);
    taken.swap(state_->spans);
    // As many will come again.
    state_->spans.reserve(taken.size());
    if (!origin) return taken;
    waiting.swap(state_->device_spans);
  }
  std::vector<DeviceSpan> left;
  for (DeviceSpan& each : waiting) {
    if (!each.end->reached()) {
      left.push_back(std::move(each));
      continue;
    }
    each.span.begin = origin->time + each.begin->since(*origin->stamp);
    each.span.end = origin->time + each.end->since(*origin->stamp);
    taken.push_back(each.span);
  }
  const std::lock_guard lock(state_->mutex);
  for (DeviceSpan& each : left) state_->device_spans.push_back(std::move(each));
  return taken;
}

std::vector<DeviceSpan> Recorder::take_unread() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->device_spans, {});
}

ScopedSpan::ScopedSpan(Recorder recorder, const Span& what)
    : recorder_(std::move(recorder)), span_(what) {
  span_.begin = recorder_.listening() ? Recorder::now() : 0;
}

ScopedSpan::~ScopedSpan() {
  // One that began before anybody listened is not known in full.
  if (span_.begin == 0 || !recorder_.listening()) return;
  span_.end = Recorder::now();
  recorder_.add(span_);
}

}  // namespace sheaf
