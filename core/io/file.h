// SPDX-License-Identifier: Apache-2.0
// Files as streams of bytes. Errors name the path and what the system said: NOT_FOUND,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full, too many files) or UNKNOWN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dlcore/base.h"

namespace dlcore {

// How the system's error numbers read.
dlcore_status status_of_system_error(int error);

class FileReader {
 public:
  explicit FileReader(std::string path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  const std::string& path() const { return path_; }
  // Of a regular file; nothing for pipes and the like.
  std::optional<uint64_t> size() const { return size_; }
  // Fills `into` from where the last read ended; returns the bytes read, fewer only at the end.
  size_t read(std::span<std::byte> into);

 private:
  std::string path_;
  int descriptor_;
  std::optional<uint64_t> size_;
};

// Replaces a file as a whole: what is written goes to a temporary file in the same directory, which
// takes the name `path` at commit(), after it has reached the disk. Readers see the old file or the
// new one, never a part; without a commit nothing changes.
//
// Temporary files are called PATH.saving-N.tmp. Whoever writes one holds a lock on it, which ends
// with the process, however that ends: so a file that a killed process left behind is recognised,
// and the next writer of the same path writes over it. There are never more of them than there were
// writers at the same time.
class AtomicFileWriter {
 public:
  explicit AtomicFileWriter(std::string path);
  ~AtomicFileWriter();
  AtomicFileWriter(const AtomicFileWriter&) = delete;
  AtomicFileWriter& operator=(const AtomicFileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  bool take(const std::string& name);

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace dlcore
