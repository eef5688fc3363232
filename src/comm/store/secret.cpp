#include "secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/file_descriptor.h"
#include "base/sha256.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::store {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kShortestFile = 32;
constexpr std::size_t kLongestFile = 4096;
constexpr std::string_view kDigits = "0123456789abcdef";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("the file of the secret {}: {}", why, path));
}

// A secret that others can read is none.
void check_owner(const FileDescriptor& file, const std::string& path) {
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) refuse(path, std::strerror(errno));
  if (!S_ISREG(found.st_mode)) refuse(path, "must be a regular file");
  if (found.st_uid != ::geteuid()) refuse(path, "must belong to the user who starts the run");
  const unsigned others = found.st_mode & (S_IRWXG | S_IRWXO);
  if (others != 0) {
    refuse(path,
           fmt::format("must be for its owner only (chmod 600), but its mode is {:03o}",
                       found.st_mode & 0777U));
  }
}

std::string read_up_to(const FileDescriptor& file, std::size_t limit) {
  std::string text(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const auto got = ::read(file.get(), text.data() + size, limit - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

Secret Secret::random() {
  std::string key(kKeyBytes, '\0');
  // Up to 256 bytes come whole, once the kernel has them at all.
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    throw IoError(fmt::format("no random bytes for a secret: {}", std::strerror(errno)));
  }
  return Secret(std::move(key));
}

Secret Secret::read(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open()) refuse(path, fmt::format("cannot be read ({})", std::strerror(errno)));
  check_owner(file, path);
  const std::string text = read_up_to(file, kLongestFile + 1);
  if (text.size() < kShortestFile || text.size() > kLongestFile) {
    refuse(path,
           fmt::format("must hold {} to {} bytes, as `head -c 32 /dev/urandom | base64` writes",
                       kShortestFile,
                       kLongestFile));
  }
  return Secret(std::string(text_of(sha256(text))));
}

Secret Secret::parse(std::string_view hex) {
  std::string key;
  bool is_hex = hex.size() == 2 * kKeyBytes;
  for (std::size_t i = 0; is_hex && i < hex.size(); i += 2) {
    const auto high = kDigits.find(hex[i]);
    const auto low = kDigits.find(hex[i + 1]);
    is_hex = high != std::string_view::npos && low != std::string_view::npos;
    key += static_cast<char>(high * 16 + low);
  }
  if (!is_hex) {
    throw UsageError(
        fmt::format("the variable {} must be {} hexadecimal digits (its value is not shown)",
                    kVariable,
                    2 * kKeyBytes));
  }
  return Secret(std::move(key));
}

Secret Secret::from_environment(const Lookup& lookup) {
  // Empty: a launcher said that there is none.
  if (const auto hex = lookup(kVariable)) return hex->empty() ? Secret() : parse(*hex);
  if (const auto path = lookup(kFileVariable); path && !path->empty()) return read(*path);
  return {};
}

std::string Secret::hex() const {
  std::string hex;
  for (const char byte : key_) {
    hex += kDigits[static_cast<unsigned char>(byte) / 16];
    hex += kDigits[static_cast<unsigned char>(byte) % 16];
  }
  return hex;
}

}  // namespace sheaf::comm::store
