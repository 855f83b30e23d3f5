// Letting long work end well when it is interrupted.
#ifndef STINT_CLI_INTERRUPTION_H_
#define STINT_CLI_INTERRUPTION_H_

#include <csignal>

namespace stint::cli {

/// While it lives, a first SIGINT or SIGTERM is only noted; a second one ends the process as ever.
/// One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace stint::cli

#endif  // STINT_CLI_INTERRUPTION_H_
