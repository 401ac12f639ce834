// A block of the design wgmma of attention.backward: one thread copies rows and tiles, and
// warpgroups add up the gradients. backward_wgmma.cu explains the algorithm.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/copy_ring.cuh>
#include <mg/shared.cuh>
#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/warpgroup.cuh>
#include <mg/wgmma.cuh>

#include "backward_warpgroup.cuh"
#include "job_order.cuh"

// A place in the order of tiles: all tiles of one head, then those of the next head. There are
// tiles of several heads only if the own rows are keys.
template <class V>
class TilePlace {
 public:
  __device__ __forceinline__ explicit TilePlace(const BackwardJob& job)
      : job_(job), head_(job.first < job.end ? job.head : job.last_head + 1), row_(job.first) {}

  __device__ __forceinline__ bool is_there() const {
    return V::kOwnsKeys ? head_ <= job_.last_head : row_ < job_.end;
  }
  __device__ __forceinline__ int head() const { return V::kOwnsKeys ? head_ : job_.head; }
  __device__ __forceinline__ int row() const { return row_; }
  __device__ __forceinline__ void advance() {
    row_ += V::kColumns;
    if (V::kOwnsKeys && row_ >= job_.end) {
      row_ = job_.first;
      ++head_;
    }
  }

 private:
  const BackwardJob& job_;
  int head_, row_;
};

inline constexpr int kNoJob = -1;  // the batch of a job that ends the work

// The tensor maps of a pass: the two matrices of the rows of a block, and the two of the tiles.
struct BackwardMaps {
  const mg::TensorMap &own0, &own1, &tile0, &tile1;
};

// The producer thread.
template <class V>
class GradientProducer {
 public:
  __device__ __forceinline__ GradientProducer(const BackwardProblem& problem,
                                              const WgmmaMemory<V>& memory,
                                              const BackwardMaps& maps)
      : problem_(problem),
        memory_(memory),
        maps_(maps),
        own_(memory.own_ring()),
        ring_(memory.ring()) {}

  // Copies the rows of a job, and its tiles in the order of their use. The first tile is copied
  // before the rows, because the memory of the rows becomes free only when the previous job is
  // done.
  __device__ __forceinline__ void bring(const BackwardJob& job) {
    TilePlace<V> tile(job);
    const bool has_tiles = tile.is_there();
    if (has_tiles) {
      bring_tile(job, tile);
      tile.advance();
    }
    bring_own(job, has_tiles);
    for (; tile.is_there(); tile.advance()) bring_tile(job, tile);
  }

  // Tells the consumers that there are no more jobs.
  __device__ __forceinline__ void end() {
    own_.wait_until_empty();
    memory_.job->batch = kNoJob;
    mg::arrive(own_.full());
  }

 private:
  __device__ __forceinline__ void bring_own(const BackwardJob& job, bool has_tiles) {
    mg::CopyBarrier& full = own_.full();
    own_.wait_until_empty();
    *memory_.job = job;
    if (has_tiles) {
      mg::arrive_expecting(full, 2 * V::Own::kBytes);
      const int row = job.own_row, head = job.own_head;
      mg::tensor_load(memory_.own(0), maps_.own0, full, 0, row, 0, head, job.batch);
      mg::tensor_load(memory_.own(1), maps_.own1, full, 0, row, 0, head, job.batch);
    } else {
      mg::arrive(full);
    }
    own_.advance();
  }

  __device__ __forceinline__ void bring_tile(const BackwardJob& job, const TilePlace<V>& tile) {
    const int row = tile.row(), head = tile.head(), slot = ring_.slot();
    mg::CopyBarrier& full = ring_.full();
    ring_.wait_until_empty();
    mg::arrive_expecting(full, V::kSlotBytes);
    mg::tensor_load(memory_.tile(slot, 0), maps_.tile0, full, 0, row, 0, head, job.batch);
    mg::tensor_load(memory_.tile(slot, 1), maps_.tile1, full, 0, row, 0, head, job.batch);
    if constexpr (V::kOwnsKeys) {
      const mg::i64 figure = problem_.figure(job.batch, head, row);
      mg::bulk_load(memory_.figures(slot, 0), problem_.logarithms + figure, 4 * V::kFigures, full);
      mg::bulk_load(memory_.figures(slot, 1), problem_.deltas + figure, 4 * V::kFigures, full);
    }
    ring_.advance();
  }

  const BackwardProblem& problem_;
  const WgmmaMemory<V>& memory_;
  const BackwardMaps& maps_;
  mg::CopyRing<1> own_;
  mg::CopyRing<V::kStages> ring_;
};

// A consumer warpgroup. All its threads call run().
template <class V>
class GradientConsumer {
 public:
  __device__ __forceinline__ GradientConsumer(const BackwardProblem& problem,
                                              const WgmmaMemory<V>& memory, int number)
      : memory_(memory),
        own_(memory.own_ring()),
        ring_(memory.ring()),
        gradients_(problem, number) {}

  template <class Jobs>
  __device__ __forceinline__ void run(const Jobs& jobs) {
    while (true) {
      own_.wait_until_full();
      const BackwardJob job = *memory_.job;
      if (job.batch == kNoJob) return;
      gradients_.begin(job);
      add_up(job);
      own_.release();
      own_.advance();
      jobs.write(job, gradients_);
    }
  }

 private:
  // Adds up all tiles of a job.
  __device__ __forceinline__ void add_up(const BackwardJob& job) {
    mg::CopyRing<V::kStages> before = ring_;
    bool is_read = false;  // whether products may still read the slot of `before`
    for (TilePlace<V> tile(job); tile.is_there(); tile.advance()) {
      ring_.wait_until_full();
      if (gradients_.sees_nothing(job, tile.row())) {
        // The producer may need the previous slot for the tiles that follow.
        if (is_read) {
          gradients_.template wait_for_sums<0>();
          before.release();
        }
        is_read = false;
        ring_.release();
        ring_.advance();
        continue;
      }
      // wgmma takes descriptors of operands from registers of the warp.
      const int slot = mg::warp_uniform(ring_.slot());
      if constexpr (V::kOwnsKeys)
        mg::wgmma_wait<1>();  // The product of P is over, so the registers of P are free for S and
                              // dP.
      gradients_.issue_logits(memory_, slot);
      gradients_.issue_dp(memory_, slot);
      gradients_.template wait_for_sums<2>();
      if (is_read) before.release();
      gradients_.template wait_for_logits<1>();
      gradients_.exponentiate(job, memory_, slot, tile.row());
      if constexpr (V::kOwnsKeys) gradients_.issue_value_sums(memory_, slot);
      gradients_.template wait_for_dp<V::kOwnsKeys ? 1 : 0>();
      gradients_.differentiate(memory_, slot);
      gradients_.issue_sums(memory_, slot);
      if constexpr (V::kOwnsKeys) mg::publish_to_copies();  // The figures were read.
      before = ring_;
      is_read = true;
      ring_.advance();
    }
    gradients_.template wait_for_sums<0>();
    if (is_read) before.release();
  }

  const WgmmaMemory<V>& memory_;
  mg::CopyRing<1> own_;
  mg::CopyRing<V::kStages> ring_;
  WarpgroupGradients<V> gradients_;
};

// Runs the jobs of a block. jobs.at(number) makes one of jobs.count jobs, and jobs.write(job,
// gradients) stores its results. `counter` is 0 before and after a launch.
template <class V, SCHEDULE kSchedule, class Jobs>
__device__ __forceinline__ void run(const Jobs& jobs, const BackwardMaps& maps, mg::u32* counter) {
  MG_SHARED(mg::CopyBarrier, barriers, [WgmmaMemory<V>::kBarriers]);
  MG_SHARED(BackwardJob, job);
  const WgmmaMemory<V> memory(barriers, &job);
  if (threadIdx.x == 0) {
    mg::prefetch(maps.own0);
    mg::prefetch(maps.own1);
    mg::prefetch(maps.tile0);
    mg::prefetch(maps.tile1);
    memory.init();
  }
  __syncthreads();
  const int warpgroup = mg::warpgroup();
  if (warpgroup > 0) {
    mg::grow_registers<V::kConsumerRegisters>();
    GradientConsumer<V>(jobs.problem, memory, warpgroup - 1).run(jobs);
    return;
  }
  mg::shrink_registers<V::kProducerRegisters>();
  if (threadIdx.x != 0) return;
  GradientProducer<V> producer(jobs.problem, memory, maps);
  int number = static_cast<int>(blockIdx.x);
  while (number < jobs.count) {
    producer.bring(jobs.at(number));
    if constexpr (kSchedule == SCHEDULE::grid) break;
    number = next_job(counter, jobs.count);
  }
  producer.end();
}
