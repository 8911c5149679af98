#include "program_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace assay {
namespace {

/// Segments that nobody writes to come from the file unchanged. The first object is the program.
int release_segments(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    auto* const first = reinterpret_cast<void*>(start);  // NOLINT(performance-no-int-to-ptr): the loader has numbers
    // Best effort: a kernel that refuses keeps them.
    static_cast<void>(::madvise(first, end - start, MADV_DONTNEED));
  }
  return 1;
}

}  // namespace

void release_program_pages() { ::dl_iterate_phdr(release_segments, nullptr); }

}  // namespace assay
