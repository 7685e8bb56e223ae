// SPDX-License-Identifier: BSD-3-Clause
// Reading SimGrid's settings back.
#include "simgrid_settings.h"

#include <exception>
#include <string>
#include <xbt/config.hpp>

const char *ictusi_simgrid_setting(const char *name)
{
    try {
        return simgrid::config::get_value<std::string>(name).c_str();
    } catch (const std::exception &) {
        return nullptr;
    }
}
