// Debian 12 builds against glibc 2.36, but the binary should start on RHEL 9 (glibc 2.34) as well. Two newer symbols
// are asked for by what is linked statically, and defined here: _dl_find_object by libgcc, whose unwinder finds
// exception tables with it (here by walking the loaded objects, as the unwinder itself did before), and arc4random by
// libstdc++, whose std::random_device draws from it. tests/packages sees to it that there are no more.

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef DLFO_STRUCT_HAS_EH_DBASE

namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* result;
};

int look_at_object(dl_phdr_info* info, std::size_t, void* data) {
  const auto* search = static_cast<Search*>(data);
  ElfW(Addr) start = 0;
  ElfW(Addr) end = 0;
  ElfW(Addr) tables = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const ElfW(Addr) low = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search->address >= low && search->address < low + segment.p_memsz) {
      start = low;
      end = low + segment.p_memsz;
    }
    if (segment.p_type == PT_GNU_EH_FRAME) tables = low;
  }
  if (!start || !tables) return 0;
  // NOLINTBEGIN(performance-no-int-to-ptr): the loader tells addresses as integers.
  search->result->dlfo_map_start = reinterpret_cast<void*>(start);
  search->result->dlfo_map_end = reinterpret_cast<void*>(end);
  search->result->dlfo_eh_frame = reinterpret_cast<void*>(tables);
  // NOLINTEND(performance-no-int-to-ptr)
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address,
                               dl_find_object* result) noexcept {  // NOLINT(bugprone-reserved-identifier)
  *result = {};
  Search search{reinterpret_cast<ElfW(Addr)>(address), result};
  return dl_iterate_phdr(look_at_object, &search) == 1 ? 0 : -1;
}

#endif

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  // Up to 256 bytes come whole or not at all; before the kernel has gathered enough, a signal may interrupt the wait.
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) std::abort();
  }
  return value;
}
