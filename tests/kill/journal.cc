#include "tests/kill/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace stint::test {

MappedJournal::MappedJournal(const std::string& path) {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  bool fresh = file >= 0 && ::lseek(file, 0, SEEK_END) == 0;
  if (file < 0 || ::ftruncate(file, sizeof(Journal)) != 0) {
    std::perror(path.c_str());
    std::exit(3);
  }
  void* memory = ::mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) {
    std::perror(path.c_str());
    std::exit(3);
  }
  journal_ = fresh ? new (memory) Journal() : static_cast<Journal*>(memory);
}

MappedJournal::~MappedJournal() { ::munmap(journal_, sizeof(Journal)); }

}  // namespace stint::test
