#include "checkpoint/torch_file.h"

#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>

#include "sheaf/checkpoint/agree.h"

namespace sheaf::checkpoint {

std::size_t Appending::append(const void* bytes, std::size_t size) noexcept {
  if (failure_) return size;
  failure_ = attempt([&] {
    disk_.write(file_, end_, {static_cast<const std::byte*>(bytes), size});
    end_ += size;
  });
  return size;
}

void Appending::check() const {
  if (failure_) std::rethrow_exception(failure_);
}

void write_torch(Appending& file,
                 std::string object,
                 const Reader& reader,
                 const std::vector<const SavedTensor*>& tensors) {
  caffe2::serialize::PyTorchStreamWriter writer(
      [&](const void* bytes, std::size_t size) { return file.append(bytes, size); });
  const auto add = [&](const std::string& name, const void* bytes, std::size_t size) {
    writer.writeRecord(name, bytes, size);
    file.check();
  };
  add("data.pkl", object.data(), object.size());
  const std::string order = "little";
  add("byteorder", order.data(), order.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& tensor = tensors[i]->tensor;
    const at::Tensor values = at::empty({tensor.numel()}, tensor.dtype);
    reader.read(tensor.name, 0, values);
    add("data/" + std::to_string(i), values.const_data_ptr(), values.nbytes());
  }
  writer.writeEndOfFile();
  file.check();
}

}  // namespace sheaf::checkpoint
