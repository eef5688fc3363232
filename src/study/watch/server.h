#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/watch/http.h"

namespace sheaf::study {

struct ServerOptions {
  std::string address = "127.0.0.1";
  /// 0: any that is free.
  int port = 0;
};

/// A small web server for one reader or a few: GET only, one thread, a connection per request.
/// Connections that do not say what they want are dropped after a while and hold up nobody.
class Server {
 public:
  using Answer = std::function<Response(const Request&)>;

  /// Throws IoError if the port cannot be had, UsageError for an address that is none.
  explicit Server(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// Answers requests until `stop` says so, which is asked some times a second.
  void run(const Answer& answer, const std::function<bool()>& stop);

 private:
  struct Connection;

  void accept_one(std::vector<Connection>& connections) const;
  /// Returns false when the connection is done with.
  bool serve(Connection& connection, const Answer& answer) const;
  [[nodiscard]] Response respond(const std::string& head, const Answer& answer) const;

  ServerOptions options_;
  int listener_ = -1;
  int port_ = 0;
};

}  // namespace sheaf::study
