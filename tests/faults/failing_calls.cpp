// A library that a test has the dynamic loader put in front of the C library (LD_PRELOAD): the calls of a program by
// which files below one folder change are counted, and the n-th fails, or kills the program before it is done. The
// environment says how:
//
//   MIRFAK_FAULT_FOLDER  the folder, without links
//   MIRFAK_FAULT_AT      n, from 1
//   MIRFAK_FAULT         an errno, or "kill"
//   MIRFAK_FAULT_LOG     a file outside the folder: every such call up to the n-th adds its name and its file
//
// A write that fails leaves half of its bytes behind, as one that meets the end of a disk does. A close that fails has
// closed. What only reads does not count.

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

// The function of this name behind this library.
template <typename Function>
Function* behind(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Read once: the program may change its environment.
struct Plan {
  std::string folder = environment("MIRFAK_FAULT_FOLDER");
  long at = std::atol(environment("MIRFAK_FAULT_AT").c_str());
  std::string fault = environment("MIRFAK_FAULT");
  std::string log = environment("MIRFAK_FAULT_LOG");
};

const Plan& plan() {
  static const Plan plan;
  return plan;
}

std::string absolute(int folder, const char* path) {
  if (path[0] == '/') return path;
  std::array<char, PATH_MAX> at{};
  if (folder == AT_FDCWD) return ::getcwd(at.data(), at.size()) == nullptr ? "" : std::string(at.data()) + "/" + path;
  const std::string link = "/proc/self/fd/" + std::to_string(folder);
  return ::readlink(link.c_str(), at.data(), at.size() - 1) < 0 ? "" : std::string(at.data()) + "/" + path;
}

// The file that is open for writing, or was changed by this call; empty: another one, or none.
std::string file_of(int file, bool only_if_written) {
  const int saved = errno;
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size() - 1);
  const int flags = length < 0 ? -1 : ::fcntl(file, F_GETFL);
  errno = saved;
  if (flags < 0 || (only_if_written && (flags & O_ACCMODE) == O_RDONLY)) return "";
  return path.data();
}

// Logs a call by the kernel's own calls, which nothing counts.
void note(std::string_view call, const std::string& path) {
  const long log = ::syscall(SYS_openat, AT_FDCWD, plan().log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string line = std::string(call) + " " + path + "\n";
  ::syscall(SYS_write, log, line.data(), line.size());
  ::syscall(SYS_close, log);
}

bool is_watched(const std::string& path) {
  return !plan().folder.empty() && path.starts_with(plan().folder) && path.size() > plan().folder.size() &&
         path[plan().folder.size()] == '/';
}

// True if it is this call's turn to fail.
bool is_turn(std::string_view call, const std::string& path) {
  static std::atomic<long> count{0};
  if (!is_watched(path)) return false;
  const long number = ++count;
  if (number > plan().at) return false;
  const int saved = errno;
  note(call, path);
  errno = saved;
  return number == plan().at;
}

// Does the fault: kills the program, or sets errno and returns -1.
int fail() {
  if (plan().fault == "kill") ::kill(::getpid(), SIGKILL);
  errno = std::atoi(plan().fault.c_str());
  return -1;
}

bool is_turn_at(std::string_view call, const char* path, int folder = AT_FDCWD) {
  return is_turn(call, absolute(folder, path));
}

bool makes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }

bool makes(const char* mode) { return std::strpbrk(mode, "wa") != nullptr; }

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

int open_unless_turn(const char* name, const char* path, int flags, mode_t mode) {
  if (makes(flags) && is_turn_at("open", path)) return fail();
  return behind<int(const char*, int, ...)>(name)(path, flags, mode);
}

FILE* fopen_unless_turn(const char* name, const char* path, const char* mode) {
  if (makes(mode) && is_turn_at("open", path)) {
    fail();
    return nullptr;
  }
  return behind<FILE*(const char*, const char*)>(name)(path, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_turn("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_turn("open64", path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  if (makes(flags) && is_turn_at("open", path, folder)) return fail();
  return behind<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) { return fopen_unless_turn("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return fopen_unless_turn("fopen64", path, mode); }

int fclose(FILE* stream) {
  const bool turn = is_turn("close", file_of(::fileno(stream), true));
  if (turn && plan().fault == "kill") return fail();
  const int closed = behind<int(FILE*)>("fclose")(stream);
  return turn ? fail() : closed;
}

int close(int file) {
  const bool turn = is_turn("close", file_of(file, true));
  if (turn && plan().fault == "kill") return fail();
  const int closed = behind<int(int)>("close")(file);
  return turn ? fail() : closed;
}

ssize_t write(int file, const void* bytes, size_t size) {
  const auto next = behind<ssize_t(int, const void*, size_t)>("write");
  if (!is_turn("write", file_of(file, true))) return next(file, bytes, size);
  next(file, bytes, size / 2);
  return fail();
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  if (!is_turn("write", file_of(file, true))) {
    return behind<ssize_t(int, const struct iovec*, int)>("writev")(file, parts, count);
  }
  const struct iovec& last = parts[count - 1];
  behind<ssize_t(int, const void*, size_t)>("write")(file, last.iov_base, last.iov_len / 2);
  return fail();
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  const auto next = behind<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (!is_turn("write", file_of(file, true))) return next(file, bytes, size, at);
  next(file, bytes, size / 2, at);
  return fail();
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) { return pwrite(file, bytes, size, at); }

int fsync(int file) { return is_turn("fsync", file_of(file, false)) ? fail() : behind<int(int)>("fsync")(file); }

int fdatasync(int file) {
  return is_turn("fsync", file_of(file, false)) ? fail() : behind<int(int)>("fdatasync")(file);
}

int ftruncate(int file, off_t size) {
  return is_turn("truncate", file_of(file, true)) ? fail() : behind<int(int, off_t)>("ftruncate")(file, size);
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int rename(const char* from, const char* to) {
  return is_turn_at("rename", to) ? fail() : behind<int(const char*, const char*)>("rename")(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  if (is_turn_at("rename", to, to_folder)) return fail();
  return behind<int(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder, to);
}

int link(const char* from, const char* to) {
  return is_turn_at("link", to) ? fail() : behind<int(const char*, const char*)>("link")(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (is_turn_at("link", to, to_folder)) return fail();
  return behind<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) { return is_turn_at("remove", path) ? fail() : behind<int(const char*)>("unlink")(path); }

int unlinkat(int folder, const char* path, int flags) {
  if (is_turn_at("remove", path, folder)) return fail();
  return behind<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int remove(const char* path) { return is_turn_at("remove", path) ? fail() : behind<int(const char*)>("remove")(path); }

int mkdir(const char* path, mode_t mode) {
  return is_turn_at("mkdir", path) ? fail() : behind<int(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
