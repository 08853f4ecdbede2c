#!/usr/bin/env bash
# Installs what building mirfak needs and this machine lacks, from the packages of Debian 12, Ubuntu 24.04 or
# newer. With --tests also what the tests and the checks of .ci/run need. Does nothing when nothing is missing.
# usage: bash .ci/setup.sh [--tests]
set -euo pipefail

packages=(
  git cmake ninja-build g++ ccache
  libboost-dev libboost-graph-dev libeigen3-dev libboost-program-options-dev libhdf5-dev libfmt-dev
  libyaml-dev nlohmann-json3-dev rapidjson-dev zlib1g-dev libsqlite3-dev libexpat1-dev libtomlplusplus-dev libprotobuf-dev protobuf-compiler libtbb-dev libopenmpi-dev openmpi-bin coinor-libcbc-dev doctest-dev libbenchmark-dev
)
# clang-format is pinned, because each version formats differently; the Python package and the notebooks are tested in
# the system's own Python; sweeps on Dask, and on a Slurm that the test starts; pages in a browser without a window;
# the documentation as a site.
packages_for_tests=(
  clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev coinor-libclp-dev
  python3 python3-dev python3-venv python3-h5py python3-pandas python3-matplotlib python3-ipykernel jupyter-nbconvert
  python3-distributed python3-jsonschema python3-yaml slurmctld slurmd slurm-client munge debootstrap
  chromium chromium-driver python3-selenium python3-sphinx python3-myst-parser furo
)

fail() {
  printf 'setup: %s\n' "$1" >&2
  if (($# > 1)); then printf '  %s\n' "${@:2}" >&2; fi
  exit 1
}

case "$*" in
  '') ;;
  --tests) packages+=("${packages_for_tests[@]}") ;;
  *) fail "unknown arguments: $*" 'usage: bash .ci/setup.sh [--tests]' ;;
esac

if ! command -v apt-get >/dev/null; then
  fail 'this is not Debian or Ubuntu; install the counterparts of these packages yourself:' "${packages[*]}"
fi

installed=$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done

if ((${#missing[@]})); then
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail 'neither root nor sudo; have an administrator run:' \
      "apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  printf 'setup: installing %s\n' "${missing[*]}"
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update
  "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null
fi

cmake_version=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
if [[ $(printf '3.25\n%s\n' "$cmake_version" | sort --version-sort | head -n 1) != 3.25 ]]; then
  fail "mirfak needs CMake 3.25 (Debian 12, Ubuntu 24.04 or newer); this one is $cmake_version"
fi
