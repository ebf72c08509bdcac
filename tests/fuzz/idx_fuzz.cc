// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes as the two files of a data set, plain or gzip. What opens gives batches.
#include <unistd.h>

#include <filesystem>

#include "fuzz.h"

namespace dlcore::fuzz {
namespace {

// A directory of this process, which goes with it.
class Directory {
 public:
  Directory() {
    path_ =
        std::filesystem::temp_directory_path() / ("dlcore-idx-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write(const std::string& path, const uint8_t* data, size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::exit(1);
  if (size > 0 && std::fwrite(data, 1, size, file) != size) std::exit(1);
  std::fclose(file);
}

}  // namespace
}  // namespace dlcore::fuzz

// Two bytes say where the second file begins, one whether the names end in .gz.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dlcore::fuzz;
  static const Directory directory;
  if (size < 3) return 0;
  const size_t rest = size - 3, split = std::min<size_t>(rest, data[0] + 256u * data[1]);
  const std::string suffix = data[2] % 2 == 0 ? "" : ".gz";
  const std::string images = directory.file("train-images-idx3-ubyte" + suffix),
                    labels = directory.file("train-labels-idx1-ubyte" + suffix);
  write(images, data + 3, split);
  write(labels, data + 3 + split, rest - split);
  on_fresh_context([&](dlcore_context* ctx) {
    const std::string source = "idx:" + directory.file("train");
    dlcore_loader* loader = dlcore_loader_open(ctx, source.c_str(), 3, DLCORE_LOADER_SHUFFLE);
    dlcore_tensor *x, *y;
    int64_t samples = 0;
    for (int i = 0; i < 20 && loader != nullptr; ++i) {
      if (dlcore_loader_next(ctx, loader, &x, &y) == 0) break;
      samples += dlcore_tensor_dim(y, 0);
      dlcore_tensor_to_string(ctx, x, nullptr, 0);
      dlcore_tensor_release(x);
      dlcore_tensor_release(y);
    }
    if (samples > dlcore_loader_samples(loader) && loader != nullptr) found("too many samples");
    require_sound_status(ctx);
    dlcore_loader_release(loader);
  });
  unlink(images.c_str());
  unlink(labels.c_str());
  return 0;
}
