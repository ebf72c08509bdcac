// SPDX-License-Identifier: Apache-2.0
#include "core/base/processors.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "core/base/thread_pool.h"

namespace dlcore {
namespace {

namespace fs = std::filesystem;

// A file tree like that of a system, below a directory of its own.
class Processors : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "processorsXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void version_2(const std::string& path) {
    put("/proc/self/cgroup", "0::" + path + "\n");
    put("/proc/self/mountinfo", "29 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
  }
  int quota() const { return processors_in_cgroup_quota(root_); }

  std::string root_;
};

TEST_F(Processors, NoFilesMeanNoQuota) { EXPECT_EQ(quota(), 0); }

TEST_F(Processors, Version2) {
  version_2("/app.slice/run");
  put("/sys/fs/cgroup/app.slice/run/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  put("/sys/fs/cgroup/app.slice/run/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 3);
  put("/sys/fs/cgroup/app.slice/run/cpu.max", "10000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(Processors, TightestAncestorCounts) {
  version_2("/a/b/c");
  put("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(Processors, NamespaceRootIsRead) {
  version_2("/");
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
  version_2("/../outside");
  EXPECT_EQ(quota(), 4);
}

TEST_F(Processors, Version1InAContainer) {
  // The container's mount shows only its own group, while the path is the host's.
  put("/proc/self/cgroup",
      "5:memory:/docker/x\n4:cpuacct,cpu:/docker/x\n1:name=systemd:/docker/x\n");
  put("/proc/self/mountinfo",
      "40 30 0:30 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
      "41 30 0:31 /docker/x /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(Processors, NonsenseIsNoQuota) {
  version_2("no slash");
  put("/sys/fs/cgroup/cpu.max", "-5 0\n");
  EXPECT_EQ(quota(), 0);
  put("/sys/fs/cgroup/cpu.max", "lots\n");
  EXPECT_EQ(quota(), 0);
  put("/proc/self/mountinfo", " - \n- -\n\n - cgroup2\n");
  put("/proc/self/cgroup", "::\n:\n0\n");
  EXPECT_EQ(quota(), 0);
}

TEST(AvailableProcessors, IsWithinTheAffinityMask) {
  EXPECT_GE(ThreadPool::available_processors(), 1);
  EXPECT_LE(ThreadPool::available_processors(), processors_in_affinity_mask());
}

}  // namespace
}  // namespace dlcore
