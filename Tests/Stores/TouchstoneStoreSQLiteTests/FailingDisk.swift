import CSQLite
import Glibc
import Synchronization

@testable import TouchstoneStoreSQLite

/// The system's files, but for an fsync that fails when told to: a virtual file system of SQLite's.
enum FailingDisk {
  /// Registers it once and answers its name.
  static func register() -> String {
    _ = registration
    return "failing-disk"
  }

  static var failsToSynchronize: Bool {
    get { isFailing.load(ordering: .sequentiallyConsistent) }
    set { isFailing.store(newValue, ordering: .sequentiallyConsistent) }
  }

  private static let isFailing = Atomic<Bool>(false)

  private static let registration: Int32 = {
    let system = systemDisk
    let disk = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    disk.initialize(to: system.pointee)
    disk.pointee.zName = UnsafePointer(strdup("failing-disk"))
    disk.pointee.xOpen = { _, name, file, flags, outFlags in
      let code = FailingDisk.systemDisk.pointee.xOpen(FailingDisk.systemDisk, name, file, flags, outFlags)
      guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else { return code }
      // Lives as long as the process: a handful of files are opened.
      let failing = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
      failing.initialize(to: methods.pointee)
      failing.pointee.xSync = { file, flags in
        FailingDisk.failsToSynchronize ? ioErrorFsync : SQLITE_OK
      }
      file.pointee.pMethods = UnsafePointer(failing)
      return SQLITE_OK
    }
    return sqlite3_vfs_register(disk, 0)
  }()

  /// The one that the store uses otherwise.
  private static var systemDisk: UnsafeMutablePointer<sqlite3_vfs> {
    guard let system = sqlite3_vfs_find(ClearingFileSystem.name) else { preconditionFailure("SQLite has it") }
    return system
  }
}

/// SQLITE_IOERR_FSYNC, a macro that Swift does not see.
private let ioErrorFsync = SQLITE_IOERR | 4 << 8
