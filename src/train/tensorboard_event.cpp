#include "train/tensorboard_event.h"

#include <bit>

#include "train/crc32c.h"

namespace sheaf::train {
namespace {

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

/// Writes the fields of one message of protocol buffers, in the order of the calls.
class Message {
 public:
  Message& integer(std::uint32_t field, std::int64_t value) {
    key(field, kVarint);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& number(std::uint32_t field, double value) {
    key(field, kEightBytes);
    bytes_ += little_endian(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& number(std::uint32_t field, float value) {
    key(field, kFourBytes);
    bytes_ += little_endian(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& bytes(std::uint32_t field, std::string_view value) {
    key(field, kLengthFirst);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return bytes(field, value.bytes_); }

  [[nodiscard]] const std::string& str() const { return bytes_; }

 private:
  enum WireType : std::uint32_t { kVarint = 0, kEightBytes = 1, kLengthFirst = 2, kFourBytes = 5 };

  void key(std::uint32_t field, WireType type) { varint(field << 3 | type); }
  // Seven bits per byte, the lowest first; the eighth bit says that there are more.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Field numbers of event.proto, summary.proto, tensor.proto and tensor_shape.proto.
namespace event {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
constexpr std::uint32_t kValue = 1;
}
namespace value {
constexpr std::uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
constexpr std::uint32_t kPluginData = 1, kPluginName = 1, kDataClass = 4;
constexpr std::int64_t kTensors = 2;
}  // namespace metadata
namespace tensor {
constexpr std::uint32_t kType = 1, kShape = 2, kStrings = 8, kDim = 2, kSize = 1;
constexpr std::int64_t kStringType = 7;
}  // namespace tensor

Message event_at(const Moment& moment) {
  return Message().number(event::kWallTime, moment.wall_time).integer(event::kStep, moment.step);
}

}  // namespace

std::string version_event(double wall_time) {
  return Message()
      .number(event::kWallTime, wall_time)
      .bytes(event::kFileVersion, "brain.Event:2")
      .str();
}

std::string scalars_event(const Moment& moment, const std::vector<Scalar>& scalars) {
  Message values;
  for (const Scalar& scalar : scalars) {
    values.message(summary::kValue,
                   Message()
                       .bytes(value::kTag, scalar.tag)
                       .number(value::kSimpleValue, static_cast<float>(scalar.value)));
  }
  return event_at(moment).message(event::kSummary, values).str();
}

std::string text_event(const Moment& moment, std::string_view tag, std::string_view text) {
  const Message shape = Message().message(tensor::kDim, Message().integer(tensor::kSize, 1));
  const Message strings = Message()
                              .integer(tensor::kType, tensor::kStringType)
                              .message(tensor::kShape, shape)
                              .bytes(tensor::kStrings, text);
  const Message plugin =
      Message()
          .message(metadata::kPluginData, Message().bytes(metadata::kPluginName, "text"))
          .integer(metadata::kDataClass, metadata::kTensors);
  const Message values = Message().message(summary::kValue,
                                           Message()
                                               .bytes(value::kTag, tag)
                                               .message(value::kTensor, strings)
                                               .message(value::kMetadata, plugin));
  return event_at(moment).message(event::kSummary, values).str();
}

std::string as_record(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  std::string record = length + little_endian(masked_crc32c(length));
  record += event;
  return record + little_endian(masked_crc32c(event));
}

}  // namespace sheaf::train
