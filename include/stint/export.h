// Symbol visibility of the public interface.
#ifndef STINT_EXPORT_H_
#define STINT_EXPORT_H_

#if defined(_WIN32)
#error "stint targets POSIX systems"
#endif

/// Marks a class or function as part of the library's binary interface. Everything else is hidden.
#define STINT_EXPORT __attribute__((visibility("default")))

#endif  // STINT_EXPORT_H_
