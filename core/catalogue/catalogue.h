// SPDX-License-Identifier: Apache-2.0
// Everything that is made by number, described: ops, layers, optimizers and schedules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/device/device.h"
#include "core/ops/registry.h"

namespace dlcore {

// All catalogues as JSON, in the form of capi/ops.json: what the generators of the typed functions
// and of the bindings read. Kernels are those of `devices`.
std::string catalogue_json(const OpTable& ops, std::span<Device* const> devices);

// Number of the entry of that name in a DLCORE_CATALOGUE_*; -1 when there is none. Throws
// INVALID_ARGUMENT for a number that is no catalogue.
int32_t catalogue_find(const OpTable& ops, int32_t catalogue, std::string_view name);
// What a common but wrong name stands for; "" when nothing is known.
std::string_view catalogue_hint(int32_t catalogue, std::string_view name);

}  // namespace dlcore
