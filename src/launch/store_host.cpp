#include "launch/store_host.h"

#include "comm/store/client.h"
#include "comm/store/server.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

using comm::store::Client;
using comm::store::Server;

// Runs `call`, whose c10 errors become CommError with the first line of their message.
template <class Call>
auto reworded(const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw CommError("the store does not answer: " + text.substr(0, text.find('\n')));
  }
}

comm::store::ClientOptions client_options(const Endpoint& endpoint,
                                          std::chrono::milliseconds timeout) {
  return {.address = {endpoint.host, endpoint.port},
          .secret = endpoint.secret,
          .timeout = timeout,
          .silence = endpoint.silence};
}

comm::store::Listener listen(const Endpoint& endpoint, StoreHost::Reach reach) {
  const bool here = reach == StoreHost::Reach::this_machine;
  auto listener =
      comm::store::listen_at({endpoint.host, endpoint.port},
                             here ? comm::store::Reach::this_machine : comm::store::Reach::network);
  if (listener.everywhere) {
    log::warning("launch",
                 "listens on all interfaces, since " + endpoint.host +
                     " is not the name of one here; with its address it would on that one only");
  }
  return listener;
}

}  // namespace

struct StoreHost::Impl {
  c10::intrusive_ptr<Client> store;
};

StoreHost StoreHost::serve(const Endpoint& endpoint, Reach reach) {
  auto options = client_options(endpoint, std::chrono::minutes(1));
  options.server = std::make_shared<Server>(
      listen(endpoint, reach),
      comm::store::ServerOptions{.secret = endpoint.secret, .silence = endpoint.silence});
  options.address = options.server->address();
  return StoreHost(std::make_shared<Impl>(Impl{c10::make_intrusive<Client>(std::move(options))}));
}

StoreHost StoreHost::connect(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  return StoreHost(
      std::make_shared<Impl>(Impl{c10::make_intrusive<Client>(client_options(endpoint, timeout))}));
}

std::uint16_t StoreHost::port() const { return impl_->store->address().port; }

std::string StoreHost::set_once(const std::string& key, const std::string& value) {
  return replace(key, "", value);
}

std::string StoreHost::replace(const std::string& key,
                               const std::string& expected,
                               const std::string& value) {
  c10d::Store& store = *impl_->store;
  return reworded([&] { return store.compareSet(key, expected, value); });
}

void StoreHost::set(const std::string& key, const std::string& value) {
  c10d::Store& store = *impl_->store;
  reworded([&] { store.set(key, value); });
}

std::optional<std::string> StoreHost::find(const std::string& key) {
  c10d::Store& store = *impl_->store;
  return reworded([&]() -> std::optional<std::string> {
    if (!store.check({key})) return std::nullopt;
    return store.get_to_str(key);
  });
}

}  // namespace sheaf::launch
