#include "checkpoint/torch_file.h"

#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>

namespace sheaf::checkpoint {

Sink append_to(const File& file, std::uint64_t& end, Disk& disk) {
  return [&](const void* bytes, std::size_t size) {
    disk.write(file, end, {static_cast<const std::byte*>(bytes), size});
    end += size;
    return size;
  };
}

void write_torch(const Sink& sink,
                 std::string object,
                 const Reader& reader,
                 const std::vector<const SavedTensor*>& tensors) {
  caffe2::serialize::PyTorchStreamWriter writer(sink);
  writer.writeRecord("data.pkl", object.data(), object.size());
  const std::string order = "little";
  writer.writeRecord("byteorder", order.data(), order.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& tensor = tensors[i]->tensor;
    const at::Tensor values = at::empty({tensor.numel()}, tensor.dtype);
    reader.read(tensor.name, 0, values);
    writer.writeRecord("data/" + std::to_string(i), values.const_data_ptr(), values.nbytes());
  }
  writer.writeEndOfFile();
}

}  // namespace sheaf::checkpoint
