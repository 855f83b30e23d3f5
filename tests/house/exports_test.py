#!/usr/bin/env python3
"""What tests/install/exports.py takes for the public interface."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "install"))

import exports  # noqa: E402

HEADER = """\
#define STINT_EXPORT __attribute__((visibility("default")))
/// STINT_EXPORT void in_a_comment();
class STINT_EXPORT Clock {
 public:
  void now();
  static int count() { return helper(2); }
};
class STINT_EXPORT Counters final : public Observer {
  void size();
};
struct Plain {
  void find(int key);
};
template <typename T>
T&& move(T& value);
STINT_EXPORT std::string_view version();
[[noreturn]] STINT_EXPORT void throw_error(const Error& error);
STINT_EXPORT Result<std::shared_ptr<prometheus::Collectable>> collectable(
    const Limiter& limiter, int size = limit(3));
"""


class Marked(unittest.TestCase):
    def test_only_what_is_marked_is_public(self):
        self.assertEqual(exports.marked_names(HEADER),
                         {"Clock", "Counters", "version", "throw_error", "collectable"})

    def test_the_headers_mark_what_users_call(self):
        names = exports.public_names()
        self.assertLessEqual({"Limiter", "Decision", "open_embedded", "version"}, names)
        self.assertFalse({"move", "size", "find", "acquire"} & names)

    def test_internals_have_a_mark_of_their_own(self):
        text = "class STINT_COMPONENT Random {\n};\nSTINT_COMPONENT Key key_of(int i);\nint f();\n"
        self.assertEqual(exports.marked_names(text, "STINT_COMPONENT"), {"Random", "key_of"})
        known = exports.base_names()
        for name, internal in (
                ("stint::store::Engine::get(int)", True),
                ("stint::Random::hex[abi:cxx11](int)", True),
                ("stint::Limiter::Impl::call()", True),
                ("stint::Limiter::acquire(stint::AcquireRequest const&)", False),
                ("stint::open_dynamodb(stint::DynamoDbOptions const&)", False)):
            self.assertEqual(exports.is_internal(exports.path_of(name), known), internal, name)

    def test_paths(self):
        known = exports.public_names()
        for name, public in (
                ("stint::Limiter::acquire(stint::AcquireRequest const&)", True),
                ("typeinfo for stint::Clock", True),
                ("stint::internal::LeaseStateDeleter::operator()(stint::X*) const", True),
                ("stint::internal::leaked()", False), ("stint::find(int)", False)):
            self.assertEqual(exports.is_public(exports.path_of(name), known), public, name)


if __name__ == "__main__":
    unittest.main()
