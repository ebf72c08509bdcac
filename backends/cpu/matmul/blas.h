// SPDX-License-Identifier: Apache-2.0
// OpenBLAS's header, whose complex types are an extension to C++ that clang would warn of.
#pragma once

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc99-extensions"
#endif
#include <cblas.h>
#ifdef __clang__
#pragma clang diagnostic pop
#endif
