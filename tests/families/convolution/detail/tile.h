// One more column keeps threads that read down a column in different banks of shared memory.
#pragma once

#define PADDED(width) ((width) + (use_padding ? 1 : 0))
