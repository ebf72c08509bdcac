// SPDX-License-Identifier: Apache-2.0
// Host allocations that fail on demand: this program's own malloc, which the library under test
// calls, too. Where the C library is not glibc, its own operator new.
#pragma once

#include <cstdint>

namespace dlcore::test {

enum class Failing {
  kOnce,      // the n-th allocation
  kFromThere  // the n-th and every later one
};

// From now on, and on all threads, until disarm().
void fail_host_allocation(int64_t n, Failing how);
// Whether one has failed since.
bool host_allocation_failed();
// The same, and nothing fails any more.
bool disarm_host_allocations();

// Blocks that are allocated and not yet freed, of the whole process; 0 where not malloc is
// replaced.
int64_t live_host_blocks();

}  // namespace dlcore::test
