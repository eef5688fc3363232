#include "export.h"

#include "sheaf/base/error.h"
#include "sheaf/hub/folder_writer.h"
#include "sheaf/hub/model_folder.h"

namespace sheaf::train {
namespace {

// Masters are fp32, and nothing of them is thrown away.
constexpr at::ScalarType kType = at::kFloat;

std::string config_of(const RunOptions& options, const models::Shape& shape) {
  if (options.model.from.empty()) return hub::format_config(shape, kType);
  return hub::with_dtype(hub::ModelFolder(options.model.from).config_text(), kType);
}

}  // namespace

void check_export(const RunOptions& options, const models::Shape& shape) {
  if (options.train.export_to.empty()) return;
  try {
    static_cast<void>(hub::format_config(shape, kType));
    hub::check_target(options.train.export_to, /*overwrite=*/false);
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("train.export: "));
  }
}

void export_model(const RunOptions& options, const Assembly& parts) {
  if (options.train.export_to.empty()) return;
  hub::FolderWriter writer(options.train.export_to,
                           {.config = config_of(options, parts.shape),
                            .parameters = hub::parameters_of(parts.shape),
                            .companions_from = options.model.from},
                           {.group = parts.mesh.world()});
  for (const sharding::Slice& slice : parts.state.owned_slices()) {
    writer.write(slice.name, slice.begin, slice.values);
  }
  writer.finish();
}

}  // namespace sheaf::train
