#pragma once

#include <functional>
#include <optional>
#include <string>

namespace mirfak::measure {

// A process's start by a launcher, and its place among the others, from the variables that launchers set:
//
//   MPI         one of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, ...: the rest is MPI's to say
//   torchrun    RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, LOCAL_RANK; or the same set by hand
//   Slurm       a step (srun) of several tasks: SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID; MASTER_ADDR is the
//               step's first node and MASTER_PORT a number of the job's unless they are set
//   none        a process on its own
//
// The first that fits, but torchrun's own (TORCHELASTIC_RUN_ID) before MPI's, which torchrun inherits from an srun.
// MIRFAK_LAUNCHER=mpi and =env (torchrun's or Slurm's variables) decide otherwise.
struct JobLaunch {
  bool mpi = false;          // if so, what follows but start_timeout_s is not known
  int rank = 0;              // from 0
  int size = 1;              // processes; 1: needs no address
  std::optional<int> place;  // among the processes of its machine; none: nobody said
  std::string address;       // of rank 0's machine: a name, IPv4 or IPv6
  // The port at which rank 0 listens: MASTER_PORT; the next one where torchrun's agent listens there itself
  // (TORCHELASTIC_USE_AGENT_STORE=True); MIRFAK_PORT where that is set.
  int port = 0;
  std::string job;               // tells jobs apart that meet at one port; may be empty
  double start_timeout_s = 120;  // how long to wait for the others to start: MIRFAK_START_TIMEOUT
};

// The value of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// Throws Error(input) that names the variable, what was expected and what to do.
JobLaunch read_launch(const Environment& environment);

// The first host of a list as Slurm writes them: "gpu[07-09,12],login" has gpu07.
std::string first_host(const std::string& nodes);

}  // namespace mirfak::measure
