// What other threads may do with a context while one thread waits for a stream.

#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/helpers/fakes/stand_in_gpu.h"

namespace mgtune {
namespace {

// One thread waits for a stream that takes long. Meanwhile another one allocates, copies and frees.
TEST(Threads, AreNotHeldUpByTheStreamOfAnotherThread) {
  const StandInGpu gpu;
  mgr_open_options_t options{};
  options.struct_size = sizeof(options);
  options.device = "0";
  mgr_context_t* context = nullptr;
  ASSERT_EQ(mgr_open(&options, &context), MGR_OK) << mgr_last_error();
  gpu.hold_streams(true);
  std::atomic<bool> synchronized = false;
  std::thread waiting([&] {
    EXPECT_EQ(mgr_synchronize(context, nullptr), MGR_OK);
    synchronized = true;
  });
  auto done = std::async(std::launch::async, [&] {
    void* memory = nullptr;
    std::array<char, 4> bytes{};
    EXPECT_EQ(mgr_allocate(context, bytes.size(), &memory), MGR_OK);
    EXPECT_EQ(mgr_copy_to_device(context, memory, bytes.data(), bytes.size()), MGR_OK);
    EXPECT_EQ(mgr_copy_to_host(context, bytes.data(), memory, bytes.size()), MGR_OK);
    mgr_free(context, memory);
  });
  EXPECT_EQ(done.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_FALSE(synchronized);
  gpu.hold_streams(false);
  waiting.join();
  done.wait();
  mgr_close(context);
}

}  // namespace
}  // namespace mgtune
