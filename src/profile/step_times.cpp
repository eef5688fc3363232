#include "sheaf/profile/step_times.h"

namespace sheaf::profile {

Seconds StepTimes::total() const {
  return data_wait + forward + backward + exposed_communication + optimizer + idle;
}

StepTimes& StepTimes::operator+=(const StepTimes& other) {
  data_wait += other.data_wait;
  forward += other.forward;
  backward += other.backward;
  exposed_communication += other.exposed_communication;
  optimizer += other.optimizer;
  idle += other.idle;
  hidden_communication += other.hidden_communication;
  return *this;
}

}  // namespace sheaf::profile
