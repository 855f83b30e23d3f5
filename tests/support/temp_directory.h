// A directory that goes away with the test.
#ifndef STINT_TESTS_SUPPORT_TEMP_DIRECTORY_H_
#define STINT_TESTS_SUPPORT_TEMP_DIRECTORY_H_

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace stint::test {

class TempDirectory {
 public:
  TempDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "stint-test-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      std::perror("stint test: no temporary directory");
      std::abort();
    }
    path_ = path;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_TEMP_DIRECTORY_H_
