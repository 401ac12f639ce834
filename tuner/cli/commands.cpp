#include "cli/command.h"

namespace mgtune {

Commands make_commands() {
  Commands commands;
  commands.push_back(make_sweep_command());
  commands.push_back(make_show_command());
  commands.push_back(make_report_command());
  commands.push_back(make_profile_command());
  commands.push_back(make_calibrate_command());
  commands.push_back(make_compare_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_export_command());
  commands.push_back(make_import_command());
  commands.push_back(make_merge_command());
  commands.push_back(make_pack_command());
  commands.push_back(make_simulate_command());
  commands.push_back(make_list_command());
  commands.push_back(make_devices_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_cache_command());
  commands.push_back(make_worker_command());
  commands.push_back(make_watch_command());
  return commands;
}

}  // namespace mgtune
