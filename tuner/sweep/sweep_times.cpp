#include "sweep/sweep_times.h"

#include "sweep/sweep_shared.h"

namespace mgtune {

SweepTimes sweep_times(SweepShared& shared) {
  const GpuTimes::Clock::time_point now = GpuTimes::Clock::now();
  const GpuTimes& times = shared.workers.times();
  SweepTimes all{.wall = times.wall(now),
                 .gpus = {},
                 .compile_processes = shared.pool.size(),
                 .compile_seconds = shared.pool.busy_time().count()};
  for (std::size_t gpu = 0; gpu < times.gpus(); ++gpu) {
    all.gpus.push_back({shared.workers.device(gpu).id, times.of(gpu, now)});
  }
  return all;
}

}  // namespace mgtune
