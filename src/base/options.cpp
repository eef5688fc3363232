#include "sheaf/base/options.h"

#include <algorithm>
#include <stdexcept>

namespace sheaf {

void FieldCollector::add(std::string_view name,
                         FieldMember member,
                         std::string_view help,
                         FieldLimit limit) {
  std::string path = prefix_ + std::string(name);
  if (find_field(fields_, path) != nullptr) throw std::logic_error(path + " is described twice");
  fields_.emplace_back(std::move(path), std::move(member), std::string(help), std::move(limit));
}

}  // namespace sheaf
