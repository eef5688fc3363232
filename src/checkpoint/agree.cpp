#include "sheaf/checkpoint/agree.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "comm/texts.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/damaged.h"

namespace sheaf::checkpoint {
namespace {

/// The kinds of errors that ranks tell each other, the worst last.
enum class Kind : std::int64_t { none, io, damaged, version, usage, other };

struct Failure {
  Kind kind = Kind::none;
  std::string text;
};

Failure failure_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const IoError& io) {
    return {Kind::io, io.what()};
  } catch (const Damaged& damaged) {
    return {Kind::damaged, damaged.what()};
  } catch (const UnknownVersion& version) {
    return {Kind::version, version.what()};
  } catch (const UsageError& usage) {
    return {Kind::usage, usage.what()};
  } catch (const CommError&) {
    // The ranks cannot talk, so they cannot agree either.
    throw;
  } catch (const std::exception& other) {
    return {Kind::other, other.what()};
  }
}

[[noreturn]] void raise(const Failure& failure) {
  switch (failure.kind) {
    case Kind::io:
      throw IoError(failure.text);
    case Kind::damaged:
      throw Damaged(failure.text);
    case Kind::version:
      throw UnknownVersion(failure.text);
    case Kind::usage:
      throw UsageError(failure.text);
    default:
      throw Error(failure.text);
  }
}

std::vector<std::int64_t> gathered(const comm::Group& group, std::int64_t value) {
  const auto options = at::TensorOptions(group.device()).dtype(at::kLong);
  const at::Tensor own = at::empty({1}, options).fill_(value);
  const at::Tensor all = at::empty({group.size()}, options);
  group.all_gather(all, own, {.purpose = comm::Purpose::control}).wait();
  const at::Tensor back = all.cpu();
  const auto* values = back.const_data_ptr<std::int64_t>();
  return {values, values + back.numel()};
}

}  // namespace

std::exception_ptr attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void agree(const comm::Group& group, const std::exception_ptr& error) {
  Failure own = failure_of(error);
  if (group.size() == 1) {
    if (own.kind == Kind::none) return;
    raise(own);
  }
  const std::vector<std::int64_t> kinds = gathered(group, static_cast<std::int64_t>(own.kind));
  const auto worst = std::ranges::max_element(kinds);
  if (*worst == static_cast<std::int64_t>(Kind::none)) return;
  const int rank = static_cast<int>(worst - kinds.begin());
  const std::string text = comm::broadcast_text(group, own.text, rank);
  raise({static_cast<Kind>(*worst), fmt::format("rank {}: {}", rank, text)});
}

void together(const comm::Group& group, const std::function<void()>& work) {
  agree(group, attempt(work));
}

}  // namespace sheaf::checkpoint
