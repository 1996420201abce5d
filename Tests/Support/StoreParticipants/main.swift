// One of several processes that take part in a conformance check of a PostgreSQL database at once.
//
//     TOUCHSTONE_STORE=postgresql://… store-participants CHECK PROCESS PROCESSES
//
// It opens the store and says `ready`. When its input ends, its participants begin; then it says their numbers and what
// each said, a line each.

internal import Glibc
internal import StoreConformance
internal import TouchstoneStorePostgres

let arguments = CommandLine.arguments
guard arguments.count == 4, let process = Int(arguments[2]), let processes = Int(arguments[3]),
  let uri = getenv("TOUCHSTONE_STORE"),
  let check = StoreConformance.parallelChecks.first(where: { $0.name == arguments[1] })
else {
  print("usage: TOUCHSTONE_STORE=URI store-participants CHECK PROCESS PROCESSES")
  exit(64)
}
// Whoever waits for others that ended waits in vain, and the test for him: SIGALRM ends him.
alarm(300)
var options = PostgresStoreOptions()
// The tests' machine may be busy with all the others.
options.callTimeout = .seconds(240)
options.listTimeout = .seconds(240)
options.connectTimeout = .seconds(20)
let store = try await PostgresStore.open(uri: String(cString: uri), options: options)
print("ready")
fflush(nil)
while readLine() != nil {}
for (number, said) in try await check.outcomes(on: [store], inProcess: process, of: processes) {
  print("\(number) \(said)")
}
await store.close()
