// How a command is run as another user of this machine, for advice that works.

public import Glibc

/// The command that runs `touchstone` as the user: root must not take the service's files over, because the service
/// could not read or write them then.
public func commandPrefix(asUser user: uid_t) -> String {
  guard let account = getpwuid(user)?.pointee else {
    return "setpriv --reuid \(user) --regid \(user) --clear-groups --"
  }
  return "runuser -u \(String(cString: account.pw_name)) --"
}
