import Glibc

/// How much of a block the kernel holds in memory: its whole pages (mincore(2)).
func residentBytes(of block: UnsafeMutableRawBufferPointer) -> Int {
  let pageBytes = sysconf(Int32(_SC_PAGESIZE))
  var pages = [UInt8](repeating: 0, count: block.count / pageBytes)
  precondition(mincore(block.baseAddress, pages.count * pageBytes, &pages) == 0)
  return pages.count { $0 & 1 == 1 } * pageBytes
}
