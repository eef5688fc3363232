#pragma once

#include <map>
#include <string>

#include "assembly.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Throws UsageError if the run's model cannot be written where `train.export` says.
void check_export(const RunOptions& options, const models::Shape& shape);

/// Returns the text of config.json for the run's model, which is a language model, with weights in
/// fp32.
[[nodiscard]] std::string config_of(const RunOptions& options, const models::Shape& shape);

/// Returns the files of the data's tokenizer by name, and one that names the token that ends a
/// text, for a model that has no tokenizer of its own.
[[nodiscard]] std::map<std::string, std::string> tokenizer_files_of(const RunOptions& options,
                                                                    const data::Data& data);

/// Writes the model as a Hugging Face folder where `train.export` says, if it says so. Every rank
/// writes its own part. Every rank must call it.
void export_model(const RunOptions& options, const Assembly& parts);

}  // namespace sheaf::train
