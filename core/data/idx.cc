// SPDX-License-Identifier: Apache-2.0
#include "core/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <system_error>

#include "core/base/error.h"
#include "core/io/file.h"
#include "core/io/stream.h"

namespace dlcore {
namespace {

constexpr int kMaxRank = 4;

struct ElementType {
  int code;
  dlcore_dtype dtype;
  const char* name;
  uint64_t bytes;
};
constexpr ElementType kTypes[] = {
    {0x08, DLCORE_U8, "u8", 1},   {0x09, DLCORE_I8, "i8", 1},   {0x0b, DLCORE_I16, "i16", 2},
    {0x0c, DLCORE_I32, "i32", 4}, {0x0d, DLCORE_F32, "f32", 4}, {0x0e, DLCORE_F64, "f64", 8},
};

// A file read through zlib, which passes on what is not gzip as it is.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path) {
    file_ = open(path_);
    if (file_ == nullptr && errno == ENOENT) {
      path_ = path + ".gz";
      file_ = open(path_);
      if (file_ == nullptr && errno == ENOENT) {
        fail(DLCORE_NOT_FOUND, "idx: there is neither '{}' nor '{}'", path, path_);
      }
    }
    if (file_ == nullptr) {
      const int error = errno;
      fail(status_of_system_error(error), "idx: cannot open '{}': {}", path_,
           std::generic_category().message(error));
    }
    gzbuffer(file_.get(), 1 << 18);
  }

  const std::string& path() const { return path_; }

  size_t read(std::span<std::byte> into) {
    const auto wanted = static_cast<unsigned>(std::min<size_t>(into.size(), 1 << 30));
    const int n = gzread(file_.get(), into.data(), wanted);
    if (n <= 0) check();
    return static_cast<size_t>(std::max(n, 0));
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };
  using File = std::unique_ptr<gzFile_s, Close>;

  static File open(const std::string& path) {
    errno = 0;
    return File(gzopen(path.c_str(), "rbe"));
  }

  void check() {
    int code = Z_OK;
    const std::string message = gzerror(file_.get(), &code);
    if (code == Z_BUF_ERROR) fail(DLCORE_DATA_LOSS, "idx: '{}': the gzip data ends early", path_);
    if (code == Z_ERRNO) {
      const int error = errno;
      fail(status_of_system_error(error), "idx: cannot read '{}': {}", path_,
           std::generic_category().message(error));
    }
    if (code == Z_MEM_ERROR) {
      fail(DLCORE_RESOURCE_EXHAUSTED, "idx: no memory to read '{}'", path_);
    }
    if (code < 0) {
      const std::string prefix = path_ + ": ";  // zlib's own
      fail(DLCORE_DATA_LOSS, "idx: '{}': the gzip data is damaged: {}", path_,
           message.starts_with(prefix) ? message.substr(prefix.size()) : message);
    }
  }

  std::string path_;
  File file_;
};

// Reads a whole file; one per call of read_idx.
class IdxReader {
 public:
  explicit IdxReader(const std::string& path)
      : file_(path), read_([this](std::span<std::byte> into) { return file_.read(into); }) {}

  IdxArray run() {
    read_header();
    const uint64_t expected = data_bytes();
    const uint64_t got = append_from(read_, expected, array_.data);
    if (got < expected) {
      damaged("there are {} bytes of data, expected {} for {}", got, expected, described());
    }
    std::byte more{};
    if (file_.read({&more, 1}) != 0) {  // at the end, this also has gzip's checksum verified
      damaged("there is more data than the {} bytes of {}", expected, described());
    }
    if constexpr (std::endian::native == std::endian::little) swap_bytes();
    return std::move(array_);
  }

 private:
  template <class... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    fail(DLCORE_DATA_LOSS, "idx: '{}': {}", file_.path(),
         formatted(format, std::forward<Args>(args)...));
  }

  std::vector<std::byte> read_part_of_header(uint64_t bytes) {
    std::vector<std::byte> part;
    if (append_from(read_, bytes, part) < bytes) {
      damaged("the header has {} bytes, expected {}", header_bytes_ + part.size(),
              header_bytes_ + bytes);
    }
    header_bytes_ += bytes;
    return part;
  }

  void read_header() {
    const auto magic = read_part_of_header(4);
    const auto byte = [&](size_t i) { return std::to_integer<int>(magic[i]); };
    if (byte(0) != 0 || byte(1) != 0) {
      damaged("the file starts with {:#04x} {:#04x}, expected two zeros", byte(0), byte(1));
    }
    type_ = std::ranges::find(kTypes, byte(2), &ElementType::code);
    if (type_ == std::end(kTypes)) {
      damaged("the element type is {:#04x}, expected 0x08, 0x09 or 0x0b to 0x0e", byte(2));
    }
    const int rank = byte(3);
    if (rank < 1 || rank > kMaxRank) {
      invalid("idx: '{}': there are {} dimensions, expected 1 to {}", file_.path(), rank, kMaxRank);
    }
    array_.dtype = type_->dtype;
    const auto lengths = read_part_of_header(4 * static_cast<uint64_t>(rank));
    for (size_t i = 0; i < lengths.size(); i += 4) {
      int64_t length = 0;
      for (size_t j = 0; j < 4; ++j) length = length * 256 + std::to_integer<int>(lengths[i + j]);
      array_.shape.push_back(length);
    }
  }

  uint64_t data_bytes() const {
    // Also where there are none: the product of any of the dimensions fits.
    int64_t bytes = static_cast<int64_t>(type_->bytes);
    bool empty = false;
    for (int64_t length : array_.shape) {
      empty = empty || length == 0;
      if (__builtin_mul_overflow(bytes, std::max<int64_t>(length, 1), &bytes)) {
        damaged("{} is too large", described());
      }
    }
    return empty ? 0 : static_cast<uint64_t>(bytes);
  }

  std::string described() const {
    return formatted("{} of shape [{}]", type_->name, joined(array_.shape, ", "));
  }

  void swap_bytes() {
    const size_t size = type_->bytes;
    if (size == 1) return;
    for (auto at = array_.data.begin(); at != array_.data.end();
         at += static_cast<ptrdiff_t>(size)) {
      std::reverse(at, at + static_cast<ptrdiff_t>(size));
    }
  }

  GzipReader file_;
  ReadFunction read_;
  const ElementType* type_ = nullptr;
  uint64_t header_bytes_ = 0;
  IdxArray array_;
};

}  // namespace

IdxArray read_idx(const std::string& path) { return IdxReader(path).run(); }

bool idx_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) || std::filesystem::exists(path + ".gz", ignored);
}

}  // namespace dlcore
