// What agents of telemetry do when they are preloaded: a variable is set before the program runs, which moves the environment away from
// the arguments. It also tells whether exit handlers run, to the file that EXIT_HANDLERS names.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void tell(void) {
  const char *path = getenv("EXIT_HANDLERS");
  if (path) close(open(path, O_CREAT | O_WRONLY, 0600));
}

__attribute__((constructor)) static void inject(void) {
  setenv("INJECTED", "1", 1);
  atexit(tell);
}
