#include "cli/interruption.h"

namespace stint::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int) { noted = 1; }

}  // namespace

Interruption::Interruption() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  // Back to the default at once, so that the second signal ends work that hangs.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool Interruption::requested() const { return noted != 0; }

}  // namespace stint::cli
