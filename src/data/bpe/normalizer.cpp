#include "data/bpe/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "data/bpe/code_points.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {
namespace {

utf8proc_option_t options_of(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::nfc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    case UnicodeForm::nfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case UnicodeForm::nfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case UnicodeForm::nfkd:
      break;
  }
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

void append_form(std::string& out, std::string_view text, UnicodeForm form) {
  utf8proc_uint8_t* result = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()),
                                 &result,
                                 options_of(form));
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  if (size < 0)
    throw UsageError(std::string("a text cannot be normalized: ") + utf8proc_errmsg(size));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  out.append(reinterpret_cast<const char*>(result), static_cast<std::size_t>(size));
}

std::string changed_by(UnicodeForm form, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = valid_prefix(text);
    if (valid > 0) append_form(out, text.substr(0, valid), form);
    text.remove_prefix(valid);
    const std::size_t invalid = invalid_prefix(text);
    out += text.substr(0, invalid);
    text.remove_prefix(invalid);
  }
  return out;
}

std::string changed_by(const Prepend& step, std::string_view text) {
  return text.empty() ? std::string() : step.text + std::string(text);
}

std::string changed_by(const Replace& step, std::string_view text) {
  std::string out;
  for (auto at = text.find(step.from); at != std::string_view::npos; at = text.find(step.from)) {
    out += text.substr(0, at);
    out += step.to;
    text.remove_prefix(at + step.from.size());
  }
  return out += text;
}

}  // namespace

bool is_normal(std::span<const NormalStep> steps, std::string_view text) {
  if (steps.empty()) return true;
  const bool only_forms = std::all_of(steps.begin(), steps.end(), [](const NormalStep& step) {
    return std::holds_alternative<UnicodeForm>(step);
  });
  return only_forms && is_ascii(text);
}

std::string normalized(std::span<const NormalStep> steps, std::string_view text) {
  std::string result(text);
  for (const auto& step : steps) {
    result = std::visit([&](const auto& each) { return changed_by(each, result); }, step);
  }
  return result;
}

}  // namespace sheaf::data::bpe
