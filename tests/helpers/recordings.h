// Small recorded spaces as other tuners write them, and gzip for tests that need a packed file.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// Four configurations, of which two failed, as Kernel Tuner writes them.
inline constexpr std::string_view kKernelTunerCache = R"({
"device_name": "NVIDIA L4", "kernel_name": "k", "problem_size": [4096, 4096],
"tune_params_keys": ["block_size_x", "method", "padding"],
"tune_params": {"block_size_x": [128, 32], "method": ["copy", "bulk"], "padding": [false, true]},
"objective": "time",
"cache": {
"128,copy,True": {"block_size_x": 128, "method": "copy", "padding": true, "time": 1.5, "times": [1.5, 1.25], "compile_time": 300.25},
"32,copy,True": {"block_size_x": 32, "method": "copy", "padding": true, "time": 3, "times": [3.0]},
"32,bulk,True": {"block_size_x": 32, "method": "bulk", "padding": true, "time": "CompilationFailedConfig"},
"128,bulk,False": {"block_size_x": 128, "method": "bulk", "padding": false, "__error__": "RuntimeFailedConfig"}}
})";

// The same in T4, in another order.
inline constexpr std::string_view kT4Results = R"({
"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"},
"results": [
{"timestamp": "2023-12-21 10:44:42", "configuration": {"block_size_x": 32, "method": "bulk", "padding": true},
 "objectives": ["time"], "times": {"compilation": 1, "runtimes": []}, "invalidity": "compile", "correctness": 0, "measurements": []},
{"configuration": {"block_size_x": 128, "method": "bulk", "padding": false},
 "objectives": ["time"], "times": {"runtimes": []}, "invalidity": "runtime", "correctness": 0, "measurements": []},
{"configuration": {"block_size_x": 32, "method": "copy", "padding": true},
 "objectives": ["time"], "times": {"runtimes": [3.0]}, "invalidity": "correct", "correctness": 1,
 "measurements": [{"name": "GFLOP/s", "value": 7, "unit": ""}, {"name": "time", "value": 3, "unit": "ms"}]},
{"configuration": {"block_size_x": 128, "method": "copy", "padding": true},
 "objectives": ["time"], "times": {"runtimes": [1.5]}, "invalidity": "correct", "correctness": 1,
 "measurements": [{"name": "time", "value": 1.5, "unit": "ms"}]}]
})";

// Of gzip -9: {"tune_params_keys":["a"],"cache":{"1":{"a":1,"time":2.5},"2":{"a":2,"time":5}}}
inline const std::string kPackedCache(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x2a\x29\xcd\x4b\x8d\x2f\x48\x2c"
    "\x4a\xcc\x2d\x8e\xcf\x4e\xad\x2c\x56\xb2\x8a\x56\x4a\x54\x8a\xd5\x51\x4a\x4e\x4c"
    "\xce\x48\x55\xb2\xaa\x56\x32\x04\x11\x89\x4a\x56\x86\x3a\x4a\x25\x99\xb9\x40\x21"
    "\x23\x3d\xd3\x5a\x1d\x25\x23\xa8\xb0\x11\x4c\xd8\xb4\xb6\xb6\x16\x00\xbc\xf6\x4e"
    "\xe4\x50\x00\x00\x00",
    85);

}  // namespace mgtune
