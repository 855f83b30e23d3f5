#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "stint/stint.h"
