#include "security/ports.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace sheaf::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The field after the name, which may hold anything but ends with the last bracket.
pid_t parent_of(pid_t pid) {
  const std::string stat = read(fmt::format("/proc/{}/stat", pid));
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return -1;
  std::istringstream fields(stat.substr(end + 1));
  char state = 0;
  pid_t parent = -1;
  fields >> state >> parent;
  return parent;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// An address as the kernel writes it: words of 8 digits in this machine's order, and the port.
Port parse_address(const std::string& text) {
  const auto colon = text.find(':');
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i) {
    std::from_chars(text.data() + 8 * i, text.data() + 8 * i + 8, words[i], 16);
  }
  std::uint16_t port = 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), port, 16);
  Port result;
  if (colon == 8) {
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&result.address);
    *ipv4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {words[0]}, .sin_zero = {}};
    result.size = sizeof(*ipv4);
  } else {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&result.address);
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(port);
    std::memcpy(&ipv6->sin6_addr, words.data(), sizeof(words));
    result.size = sizeof(*ipv6);
  }
  return result;
}

void add_ports(pid_t pid, const std::string& table, std::vector<Port>& ports) {
  const auto own = sockets_of(pid);
  std::istringstream lines(read(fmt::format("/proc/{}/net/{}", pid, table)));
  std::string line;
  std::getline(lines, line);  // the head of the table
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> words;
    for (std::string word; fields >> word;) words.push_back(word);
    const bool listens = words.size() > 9 && words[3] == "0A";
    if (!listens || !own.contains(words[9])) continue;
    Port port = parse_address(words[1]);
    port.pid = pid;
    ports.push_back(port);
  }
}

}  // namespace

bool Port::is_loopback() const {
  if (address.ss_family == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(&address);
    return ntohl(ipv4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
}

std::string Port::str() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_ipv4 = address.ss_family == AF_INET;
  const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(&address);
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(&address);
  const void* bytes = is_ipv4 ? static_cast<const void*>(&ipv4->sin_addr) : &ipv6->sin6_addr;
  ::inet_ntop(address.ss_family, bytes, text.data(), text.size());
  return fmt::format(
      "{} port {} of pid {}", text.data(), ntohs(is_ipv4 ? ipv4->sin_port : ipv6->sin6_port), pid);
}

std::vector<pid_t> family_of(pid_t root) {
  std::vector<pid_t> family{root};
  const auto all = all_processes();
  for (std::size_t i = 0; i < family.size(); ++i) {
    for (const pid_t pid : all) {
      if (parent_of(pid) == family[i]) family.push_back(pid);
    }
  }
  return family;
}

std::vector<Port> listening_ports(const std::vector<pid_t>& processes) {
  std::vector<Port> ports;
  for (const pid_t pid : processes) {
    add_ports(pid, "tcp", ports);
    add_ports(pid, "tcp6", ports);
  }
  return ports;
}

}  // namespace sheaf::testing
