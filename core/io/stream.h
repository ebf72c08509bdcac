// SPDX-License-Identifier: Apache-2.0
// Streams of bytes as functions, which is how programs hand them in (a jar, an object store).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dlcore {

// Fills `into` as far as it can and returns the bytes; 0 means the end. Throws Error on failure.
using ReadFunction = std::function<size_t(std::span<std::byte> into)>;
// Takes all bytes, or throws Error.
using WriteFunction = std::function<void(std::span<const std::byte> bytes)>;

// Appends `bytes` bytes to `to`, or fewer at the end of the stream; returns how many. `to` grows
// with what really arrives, so that a length announced by a hostile file costs no memory.
uint64_t append_from(const ReadFunction& read, uint64_t bytes, std::vector<std::byte>& to);

}  // namespace dlcore
