// SPDX-License-Identifier: Apache-2.0
// Runs the conformance cases through the C API on one device. See README.md.
#include <dlcore/dlcore.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "checks.h"
#include "support/instruction_set.h"

namespace dlcore::conformance {
namespace {

constexpr const char* kUsage =
    "usage: conformance [--cases DIR] [--device NAME] [--plugin FILE] [--filter SUBSTRING]\n"
    "                   [--instruction-set best|baseline|avx2|avx512] [--threads N]\n"
    "                   [--allow-unsupported] [--list] [--verbose]\n";

struct Options {
  std::string cases = "tests/conformance/cases";
  std::string device = "cpu";
  std::vector<std::string> plugins;
  std::string filter;
  int32_t threads = 0;
  bool allow_unsupported = false;
  bool list = false;
  bool verbose = false;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::vector<std::string> args(argv + 1, argv + argc);
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& flag = args[i];
    if (flag == "--allow-unsupported") {
      options.allow_unsupported = true;
      continue;
    }
    if (flag == "--list") {
      options.list = true;
      continue;
    }
    if (flag == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (i + 1 == args.size())
      throw std::runtime_error("unknown or incomplete argument '" + flag + "'\n" + kUsage);
    const std::string& value = args[++i];
    if (flag == "--cases") {
      options.cases = value;
    } else if (flag == "--device") {
      options.device = value;
    } else if (flag == "--plugin") {
      options.plugins.push_back(value);
    } else if (flag == "--filter") {
      options.filter = value;
    } else if (flag == "--instruction-set") {
      if (!test::force_instruction_set(value))
        throw std::runtime_error("unknown instruction set '" + value + "'\n" + kUsage);
    } else if (flag == "--threads") {
      options.threads = static_cast<int32_t>(std::stol(value));
    } else {
      throw std::runtime_error("unknown argument '" + flag + "'\n" + kUsage);
    }
  }
  return options;
}

[[noreturn]] void throw_error(dlcore_error* error, const std::string& what) {
  const std::string text = what + ": " + dlcore_error_message(error);
  dlcore_error_release(error);
  throw std::runtime_error(text);
}

class Engine {
 public:
  explicit Engine(const Options& options) {
    dlcore_engine_options engine_options = test::engine_options();
    engine_options.threads = options.threads;
    dlcore_error* error = nullptr;
    engine_ = dlcore_engine_open(&engine_options, &error);
    if (engine_ == nullptr) throw_error(error, "cannot open an engine");
    for (const std::string& path : options.plugins) {
      if (dlcore_engine_load_plugin(engine_, path.c_str(), &error) == DLCORE_OK) continue;
      dlcore_engine_close(engine_);
      throw_error(error, "cannot load " + path);
    }
  }
  ~Engine() { dlcore_engine_close(engine_); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  dlcore_engine* get() const { return engine_; }

 private:
  dlcore_engine* engine_ = nullptr;
};

class Run {
 public:
  explicit Run(const Options& options) : options_(options), engine_(options) {}

  int all() {
    const std::vector<Family> families = load_corpus(options_.cases);
    for (const Family& family : families) {
      for (const Json& test : family.cases) one(family, test);
    }
    if (options_.list) return EXIT_SUCCESS;
    if (options_.filter.empty()) require_coverage();
    if (unsupported_ > 0)
      std::printf("%d unsupported on %s\n", unsupported_, options_.device.c_str());
    std::printf("%d passed, %d failed\n", passed_, failed_);
    return failed_ == 0 && passed_ > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  using Check = void (*)(const Session&, const Case&);

  void one(const Family& family, const Json& json) {
    const std::string name = json.at("name");
    if (name.find(options_.filter) == std::string::npos) return;
    if (options_.list) {
      std::printf("%s\n", name.c_str());
      return;
    }
    if (options_.verbose) std::printf("%s\n", name.c_str());
    covered_.insert(json.at("op").get<std::string>());
    note_dtypes(json);
    try {
      const Case test(catalogue_, family, json);
      for (Check check : checks_of(test)) {
        const Session session(engine_.get(), options_.device, catalogue_);
        check(session, test);
      }
      ++passed_;
    } catch (const CallError& error) {
      if (is_unsupported(error)) {
        ++unsupported_;
      } else {
        fail(name, error.what());
      }
    } catch (const std::exception& error) {
      fail(name, error.what());
    }
  }

  static std::vector<Check> checks_of(const Case& test) {
    if (test.json.at("expect").contains("error")) return {check_error};
    std::vector<Check> checks = {check_outputs, check_layout};
    if (!test.differentiable().empty()) checks.push_back(check_gradients);
    if (test.has_flag("jvp")) checks.push_back(check_forward_mode);
    if (test.has_flag("smooth")) checks.push_back(check_gradcheck);
    if (test.has_flag("vmap")) checks.push_back(check_vmap);
    return checks;
  }

  void fail(const std::string& name, const std::string& text) {
    ++failed_;
    std::printf("FAILED %s: %s\n", name.c_str(), text.c_str());
  }

  // A device other than the CPU may lack an op, when it says so by its own name and that of the op:
  // the one of the case, or one that this or its derivative is written in.
  bool is_unsupported(const CallError& error) const {
    if (!options_.allow_unsupported || options_.device == "cpu") return false;
    const std::string op = error.text.substr(0, error.text.find(':'));
    const Json& ops = catalogue_.ops();
    return error.code == DLCORE_UNIMPLEMENTED &&
           std::any_of(ops.begin(), ops.end(), [&](const Json& o) { return o.at("name") == op; }) &&
           error.text.find("device '" + options_.device + "'") != std::string::npos;
  }

  void note_dtypes(const Json& json) {
    if (!json.at("expect").contains("outputs")) return;
    std::set<std::string>& dtypes = dtypes_[json.at("op").get<std::string>()];
    for (const Json& input : json.at("inputs")) {
      if (input.is_object() && input.contains("dtype"))
        dtypes.insert(input.at("dtype").get<std::string>());
    }
    for (const Json& output : json.at("expect").at("outputs"))
      dtypes.insert(output.at("dtype").get<std::string>());
  }

  // Every op of the catalogue, and every dtype that it has a kernel for, has a case.
  void require_coverage() {
    for (const Json& op : catalogue_.ops()) {
      if (op.value("hidden", false)) continue;
      const std::string name = op.at("name");
      if (covered_.count(name) == 0) {
        fail("coverage/" + name, "no case");
        continue;
      }
      for (const Json& dtype : op.value("kernels", Json::object()).value("cpu", Json::array())) {
        if (dtypes_[name].count(dtype.get<std::string>()) == 0)
          fail("coverage/" + name, "no case for " + dtype.dump());
      }
    }
  }

  Options options_;
  Engine engine_;
  Catalogue catalogue_;
  std::set<std::string> covered_;
  std::map<std::string, std::set<std::string>> dtypes_;
  int passed_ = 0;
  int failed_ = 0;
  int unsupported_ = 0;
};

}  // namespace
}  // namespace dlcore::conformance

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was printed survives a crash of the engine
  try {
    return dlcore::conformance::Run(dlcore::conformance::parse(argc, argv)).all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
