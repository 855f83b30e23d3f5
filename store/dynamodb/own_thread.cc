#include "store/dynamodb/own_thread.h"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <utility>

namespace stint::store::dynamodb {
namespace {

/// Blocks all signals, which a thread started meanwhile inherits.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_own_thread(const char* name, std::function<void()> run) {
  WithoutSignals guard;
  std::thread thread([name = std::string(name), run = std::move(run)] {
    pthread_setname_np(pthread_self(), name.c_str());
    run();
  });
  return thread;
}

}  // namespace stint::store::dynamodb
