// SPDX-License-Identifier: Apache-2.0
// Formats: proc(5) for mountinfo, cgroups(7) for /proc/self/cgroup, and the kernel's cgroup-v2 and
// sched-bwc documents for cpu.max and cpu.cfs_quota_us.
#include "core/base/processors.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace dlcore {
namespace {

// The control group that governs this process's CPU time in one hierarchy.
struct Group {
  int version = 0;
  std::string mount;  // where the hierarchy is seen
  std::string path;   // of the group below the mount: "", or "/a/b"
};

bool holds_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == item) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// The path of this process's group in the hierarchy that controls CPU time; nothing if not listed.
std::optional<std::string> path_of_process(const std::string& root, int version) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool found = version == 2 ? controllers.empty() : holds_item(controllers, "cpu");
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

// A mount shows the hierarchy from the group `shown` downwards; outside of it (a process moved to
// another namespace) only the mount itself can be read.
std::string path_below(const std::string& shown, const std::string& path) {
  const std::string base = shown == "/" ? "" : shown;
  const bool inside = path.compare(0, base.size(), base) == 0 &&
                      (path.size() == base.size() || path[base.size()] == '/');
  if (!inside || path.find("/..") != std::string::npos) return "";
  const std::string below = path.substr(base.size());
  return below == "/" ? "" : below;
}

std::vector<Group> groups_of_process(const std::string& root) {
  std::vector<Group> groups;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    std::string id, parent, device, shown, mount, type, source, options;
    before >> id >> parent >> device >> shown >> mount;
    after >> type >> source >> options;
    const int version = type == "cgroup2" ? 2 : 1;
    if (version == 1 && !(type == "cgroup" && holds_item(options, "cpu"))) continue;
    if (const auto path = path_of_process(root, version)) {
      groups.push_back({version, root + mount, path_below(shown, *path)});
    }
  }
  return groups;
}

std::optional<double> read_number(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// Processors allowed by the group in `directory` itself; infinity for no limit.
double quota_of(int version, const std::string& directory) {
  std::optional<double> quota;
  std::optional<double> period;
  if (version == 2) {
    std::ifstream file(directory + "/cpu.max");  // "200000 100000" or "max 100000"
    double first = 0;
    double second = 0;
    if (file >> first >> second) {
      quota = first;
      period = second;
    }
  } else {
    quota = read_number(directory + "/cpu.cfs_quota_us");  // -1 for none
    period = read_number(directory + "/cpu.cfs_period_us");
  }
  return quota && period && *quota > 0 && *period > 0 ? *quota / *period : INFINITY;
}

double tightest_quota(const Group& group) {
  double tightest = quota_of(group.version, group.mount);
  for (std::string path = group.path; !path.empty(); path.resize(path.rfind('/'))) {
    tightest = std::min(tightest, quota_of(group.version, group.mount + path));
  }
  return tightest;
}

}  // namespace

int processors_in_affinity_mask() {
#ifdef __linux__
  // The kernel refuses a mask shorter than its own, whose length it does not tell.
  for (size_t bits = 1024; bits <= (size_t{1} << 20); bits *= 2) {
    std::vector<unsigned long> mask(bits / (8 * sizeof(unsigned long)));
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    const size_t bytes = mask.size() * sizeof mask[0];
    if (sched_getaffinity(0, bytes, set) == 0) return std::max(1, CPU_COUNT_S(bytes, set));
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int processors_in_cgroup_quota(const std::string& root) {
  double tightest = INFINITY;
  for (const Group& group : groups_of_process(root)) {
    tightest = std::min(tightest, tightest_quota(group));
  }
  if (tightest > 1e6) return 0;
  return std::max(1, static_cast<int>(std::ceil(tightest)));
}

}  // namespace dlcore
