// Objects that a thread uses again for the memory that they hold.
#ifndef STINT_BASE_SPARE_OBJECTS_H_
#define STINT_BASE_SPARE_OBJECTS_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace stint {

/// At most `kMost` objects of a type that nobody uses at the moment, apart for each thread.
template <typename T, std::size_t kMost>
class SpareObjects {
 public:
  /// Null when there is none.
  static std::unique_ptr<T> take() {
    if (closed() || of_thread().empty()) return nullptr;
    std::unique_ptr<T> object = std::move(of_thread().back());
    of_thread().pop_back();
    return object;
  }

  /// Keeps the object, which may come from another thread, or deletes it.
  static void keep(std::unique_ptr<T> object) noexcept {
    if (closed()) return;
    try {
      std::vector<std::unique_ptr<T>>& spare = of_thread();
      if (spare.size() < kMost) spare.push_back(std::move(object));
    } catch (const std::bad_alloc&) {
      // Then it is not kept.
    }
  }

 private:
  SpareObjects() { objects_.reserve(kMost); }
  ~SpareObjects() { closed() = true; }

  /// True once the thread's are gone: objects of static storage may still end after that.
  static bool& closed() {
    static thread_local bool is_closed = false;
    return is_closed;
  }
  static std::vector<std::unique_ptr<T>>& of_thread() {
    static thread_local SpareObjects spare;
    return spare.objects_;
  }

  std::vector<std::unique_ptr<T>> objects_;
};

}  // namespace stint

#endif  // STINT_BASE_SPARE_OBJECTS_H_
