// Timers are part of this module's interface: a file that imports it sees `MonotonicTime` too.

@_exported public import MonotonicClock
