#include "sheaf/train/record.h"

namespace sheaf::train {

Seconds PhaseTimes::total() const {
  return data_wait + forward + backward + exposed_communication + optimizer;
}

PhaseTimes& PhaseTimes::operator+=(const PhaseTimes& other) {
  data_wait += other.data_wait;
  forward += other.forward;
  backward += other.backward;
  exposed_communication += other.exposed_communication;
  optimizer += other.optimizer;
  return *this;
}

}  // namespace sheaf::train
