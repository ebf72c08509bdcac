// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use, from each of the places that limit it.
#pragma once

#include <string>

namespace dlcore {

// Processors in the affinity mask of the calling thread; at least 1.
int processors_in_affinity_mask();

// Processors that the CPU quota of this process's control groups (version 1 or 2, the tightest of
// all its ancestors) is worth, rounded up; 0 when there is no quota. The system's files are looked
// for below `root`: "" in earnest, a directory in tests.
int processors_in_cgroup_quota(const std::string& root);

}  // namespace dlcore
