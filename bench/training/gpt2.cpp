#include "gpt2.h"

#include <ATen/core/grad_mode.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

using Renaming = std::pair<std::string_view, std::string_view>;

// What Gpt calls its parts, and what GPT-2 does; longer names first.
constexpr std::array kNames{Renaming{"tokens.", "transformer.wte."},
                            Renaming{"positions", "transformer.wpe.weight"},
                            Renaming{"blocks.", "transformer.h."},
                            Renaming{".norm1.", ".ln_1."},
                            Renaming{".qkv.", ".attn.c_attn."},
                            Renaming{".out.", ".attn.c_proj."},
                            Renaming{".norm2.", ".ln_2."},
                            Renaming{".up.", ".mlp.c_fc."},
                            Renaming{".down.", ".mlp.c_proj."}};

std::string gpt2_name(std::string name) {
  if (name.starts_with("norm.")) return "transformer.ln_f." + name.substr(5);
  for (const auto& [from, to] : kNames) {
    const std::size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  }
  return name;
}

}  // namespace

std::shared_ptr<models::Model> same_as_gpt2(const GptOptions& options) {
  auto model = models::build({.preset = "gpt2-14m",
                              .layers = options.num_layers,
                              .width = options.width,
                              .heads = options.num_heads,
                              .vocabulary = options.vocabulary,
                              .context = options.context});
  const Gpt plain(options);
  const at::NoGradGuard no_grad;
  auto parameters = model->named_parameters();
  for (const auto& item : plain.named_parameters()) {
    const std::string name = gpt2_name(item.key());
    at::Tensor* target = parameters.find(name);
    if (target == nullptr) throw Error("GPT-2 has no parameter " + name);
    // GPT-2's projections keep weights as [in, out].
    const bool turned = item.value().sizes() != target->sizes() ||
                        (name.find(".c_") != std::string::npos && item.value().dim() == 2);
    target->copy_(turned ? item.value().t() : item.value());
  }
  return model;
}

}  // namespace sheaf::bench
