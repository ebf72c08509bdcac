// SPDX-License-Identifier: Apache-2.0
#include "core/io/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/base/error.h"

namespace dlcore {
namespace {

// Linux moves at most about 2 GiB in one call.
constexpr size_t kLargestTransfer = size_t{1} << 30;

constexpr int kMostWriters = 1000;  // of one path at the same time

[[noreturn]] void fail_for(const char* action, const std::string& path, int error) {
  fail(status_of_system_error(error), "cannot {} '{}': {}", action, path,
       std::generic_category().message(error));
}

void check_path(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) invalid("'{}' is no file name", path);
}

template <class Call>
auto retry(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// A file that is there, but not for us to write: a link, a directory, a pipe, somebody else's.
bool is_unusable(int error) {
  return error == ELOOP || error == EISDIR || error == ENXIO || error == EACCES || error == EPERM;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// A rename has reached the disk when its directory has; file systems that cannot sync one say
// EINVAL.
void sync_directory(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  retry([&] { return fsync(descriptor); });
  close(descriptor);
}

}  // namespace

dlcore_status status_of_system_error(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return DLCORE_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return DLCORE_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return DLCORE_RESOURCE_EXHAUSTED;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return DLCORE_INVALID_ARGUMENT;
    default:
      return DLCORE_UNKNOWN;
  }
}

FileReader::FileReader(std::string path) : path_(std::move(path)) {
  check_path(path_);
  descriptor_ = retry([this] { return open(path_.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor_ < 0) fail_for("open", path_, errno);
  struct stat status {};
  const int error = fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error != 0) {
    close(descriptor_);
    fail_for("read", path_, error);
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<uint64_t>(status.st_size);
}

FileReader::~FileReader() { close(descriptor_); }

size_t FileReader::read(std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    const size_t wanted = std::min(into.size() - done, kLargestTransfer);
    const ssize_t n = retry([&] { return ::read(descriptor_, into.data() + done, wanted); });
    if (n < 0) fail_for("read", path_, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

AtomicFileWriter::AtomicFileWriter(std::string path) : path_(std::move(path)) {
  check_path(path_);
  if (struct stat status{}; stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    fail_for("write", path_, EISDIR);
  }
  for (int n = 0; descriptor_ < 0; ++n) {
    if (n == kMostWriters) {
      fail(DLCORE_RESOURCE_EXHAUSTED, "cannot write '{}': {} temporary files are in use", path_, n);
    }
    std::string name = formatted("{}.saving-{}.tmp", path_, n);
    while (!take(name)) {
    }
    if (descriptor_ >= 0) temporary_ = std::move(name);  // which needs no memory
  }
}

// Opens and locks the file of that name, new or left over; leaves it alone when it is somebody
// else's. False when it was taken away meanwhile: the name is to be tried again.
bool AtomicFileWriter::take(const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const auto open_it = [&](int flags) {
    return retry([&] { return open(name.c_str(), flags, 0666); });
  };
  int descriptor = open_it(kFlags | O_EXCL);
  const bool created = descriptor >= 0;
  if (!created && errno == EEXIST) descriptor = open_it(kFlags);
  struct stat mine, there;
  if (descriptor < 0) {
    const int error = errno;
    if (is_unusable(error) && lstat(name.c_str(), &there) == 0) return true;
    fail_for("write", path_, error);
  }
  const bool locked = retry([&] { return flock(descriptor, LOCK_EX | LOCK_NB); }) == 0 ||
                      (errno != EWOULDBLOCK && created);  // some file systems have no locks
  const bool known = fstat(descriptor, &mine) == 0;
  // Whoever held the lock before has renamed or removed the file since it was opened.
  const bool seen = lstat(name.c_str(), &there) == 0;
  const bool gone =
      seen ? there.st_ino != mine.st_ino || there.st_dev != mine.st_dev : errno == ENOENT;
  const bool ours = locked && known && seen && !gone && S_ISREG(mine.st_mode) &&
                    mine.st_uid == geteuid() && mine.st_nlink == 1;
  if (!ours || retry([&] { return ftruncate(descriptor, 0); }) != 0) {
    close(descriptor);
    return !(known && gone);
  }
  descriptor_ = descriptor;
  return true;
}

// The lock goes last: until then nobody else takes the temporary file for one that was left behind.
AtomicFileWriter::~AtomicFileWriter() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
}

void AtomicFileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t wanted = std::min(bytes.size(), kLargestTransfer);
    const ssize_t n = retry([&] { return ::write(descriptor_, bytes.data(), wanted); });
    if (n < 0) fail_for("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void AtomicFileWriter::commit() {
  const std::string directory = directory_of(path_);  // nothing may fail after the rename
  if (retry([this] { return fsync(descriptor_); }) != 0) fail_for("write", path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_for("write", path_, errno);
  temporary_.clear();
  close(std::exchange(descriptor_, -1));  // all of it is on the disk: nothing can fail any more
  sync_directory(directory);
}

}  // namespace dlcore
