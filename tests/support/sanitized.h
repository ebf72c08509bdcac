// SPDX-License-Identifier: Apache-2.0
// Which sanitizer this program was built with: GCC and clang say it differently.
#pragma once

#if defined(__has_feature)
#define DLCORE_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define DLCORE_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || DLCORE_TEST_HAS_FEATURE(address_sanitizer)
#define DLCORE_TEST_ADDRESS_SANITIZER 1
#else
#define DLCORE_TEST_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || DLCORE_TEST_HAS_FEATURE(thread_sanitizer)
#define DLCORE_TEST_THREAD_SANITIZER 1
#else
#define DLCORE_TEST_THREAD_SANITIZER 0
#endif
