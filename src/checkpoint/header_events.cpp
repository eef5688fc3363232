#include "checkpoint/header_events.h"

#include <fmt/format.h>

#include <limits>

#include "base/quoting.h"
#include "checkpoint/dtypes.h"
#include "sheaf/base/error.h"

namespace sheaf::checkpoint {
namespace {

constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostDims = 64;

}  // namespace

std::string HeaderEvents::what_is_expected() const {
  switch (place_) {
    case Place::outside:
      return "the header must be an object of tensors";
    case Place::header:
      if (key_ == kMetadata) return "__metadata__ must be an object of texts";
      return fmt::format("{} must be an object", in_quotes(key_));
    case Place::metadata:
      return fmt::format("{} in __metadata__ must be a text", in_quotes(key_));
    case Place::tensor:
      if (key_ == "dtype") {
        return fmt::format("dtype of {} must be a text", in_quotes(tensor_.tensor.name));
      }
      return fmt::format("{} of {} must be a list", key_, in_quotes(tensor_.tensor.name));
    case Place::shape:
      return fmt::format("the shape of {} must have whole numbers from 0 on",
                         in_quotes(tensor_.tensor.name));
    case Place::offsets:
      return fmt::format("data_offsets of {} must be two whole numbers from 0 on",
                         in_quotes(tensor_.tensor.name));
    case Place::end:
      break;
  }
  return "nothing may follow the header's object";
}

void HeaderEvents::refuse_value(const std::string& got) const {
  throw UsageError(fmt::format("{}, got {}", what_is_expected(), got));
}

bool HeaderEvents::number_unsigned(std::uint64_t value) {
  if (place_ == Place::offsets && offsets_.size() < 2) {
    offsets_.push_back(value);
    return true;
  }
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (place_ != Place::shape || value > kLargest) refuse_value(std::to_string(value));
  if (tensor_.tensor.shape.size() == kMostDims) {
    throw UsageError(fmt::format(
        "{} may have at most {} dimensions", in_quotes(tensor_.tensor.name), kMostDims));
  }
  tensor_.tensor.shape.push_back(static_cast<std::int64_t>(value));
  return true;
}

bool HeaderEvents::number_float(double /*value*/, const std::string& text) { refuse_value(text); }

bool HeaderEvents::string(std::string& value) {
  if (place_ == Place::metadata) {
    header_.metadata[key_] = value;
    return true;
  }
  if (place_ != Place::tensor || key_ != "dtype") refuse_value(in_quotes(value));
  try {
    tensor_.tensor.dtype = dtype_of(value);
  } catch (const UsageError& error) {
    std::rethrow_exception(error.with_prefix(in_quotes(tensor_.tensor.name) + ": "));
  }
  return true;
}

bool HeaderEvents::binary(nlohmann::json::binary_t& /*value*/) { refuse_value("bytes"); }

bool HeaderEvents::key(std::string& name) {
  key_ = name;
  if (name.size() > kLongestName) {
    throw UsageError(fmt::format("a name may have at most {} bytes, got {}: {}",
                                 kLongestName,
                                 name.size(),
                                 in_quotes(name)));
  }
  const bool in_tensor = place_ == Place::tensor;
  if (in_tensor && name != "dtype" && name != "shape" && name != "data_offsets") {
    throw UsageError(fmt::format("{} must have dtype, shape and data_offsets, got {}",
                                 in_quotes(tensor_.tensor.name),
                                 in_quotes(name)));
  }
  if (place_ == Place::metadata) {
    if (header_.metadata.contains(name)) {
      throw UsageError(fmt::format("__metadata__ has two texts named {}", in_quotes(name)));
    }
    return true;
  }
  if ((in_tensor ? fields_ : names_).insert(name).second) return true;
  if (in_tensor) {
    throw UsageError(fmt::format("{} has two fields {}", in_quotes(tensor_.tensor.name), name));
  }
  throw UsageError(fmt::format("there are two entries named {}", in_quotes(name)));
}

bool HeaderEvents::start_object(std::size_t /*size*/) {
  if (place_ == Place::outside) {
    place_ = Place::header;
  } else if (place_ == Place::header && key_ == kMetadata) {
    place_ = Place::metadata;
  } else if (place_ == Place::header) {
    start_tensor();
  } else {
    refuse_value("an object");
  }
  return true;
}

bool HeaderEvents::end_object() {
  if (place_ == Place::tensor) end_tensor();
  place_ = place_ == Place::header ? Place::end : Place::header;
  return true;
}

bool HeaderEvents::start_array(std::size_t /*size*/) {
  if (place_ != Place::tensor || key_ == "dtype") refuse_value("a list");
  place_ = key_ == "shape" ? Place::shape : Place::offsets;
  return true;
}

bool HeaderEvents::end_array() {
  if (place_ == Place::offsets && offsets_.size() != 2) {
    refuse_value(std::to_string(offsets_.size()));
  }
  place_ = Place::tensor;
  return true;
}

bool HeaderEvents::parse_error(std::size_t position,
                               const std::string& /*token*/,
                               const nlohmann::json::exception& /*error*/) {
  throw UsageError(fmt::format("the header is not JSON from its byte {} on", position));
}

void HeaderEvents::start_tensor() {
  place_ = Place::tensor;
  tensor_ = {.tensor = {.name = key_}};
  offsets_.clear();
  fields_.clear();
}

void HeaderEvents::end_tensor() {
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (fields_.contains(field)) continue;
    throw UsageError(fmt::format("{} has no {}", in_quotes(tensor_.tensor.name), field));
  }
  if (offsets_[0] > offsets_[1]) {
    throw UsageError(fmt::format("data_offsets of {} end before they begin: {} to {}",
                                 in_quotes(tensor_.tensor.name),
                                 offsets_[0],
                                 offsets_[1]));
  }
  tensor_.begin = offsets_[0];
  tensor_.size = offsets_[1] - offsets_[0];
  header_.tensors.push_back(std::move(tensor_));
}

}  // namespace sheaf::checkpoint
