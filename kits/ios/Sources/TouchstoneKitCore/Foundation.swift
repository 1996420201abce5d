// `Data` for all files of the core, without the rest of Foundation where it comes apart from it.

#if canImport(FoundationEssentials)
  @_exported import FoundationEssentials
#else
  @_exported import Foundation
#endif
