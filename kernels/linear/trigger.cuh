// When a kernel of this family lets the next grid start (programmatic dependent launch).

#pragma once

// begin: with this grid. last_loads: when a warp of each block has started its last loads.
enum class TRIGGER { begin, last_loads };
