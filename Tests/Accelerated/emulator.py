"""A machine with AVX-512 IFMA on any machine: Bochs boots Debian's kernel with the program to run and nothing else."""

import os
import pty
import re
import shutil
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).parent
INSTALL = HERE.parents[1] / "deploy" / "install-packages"

#: Whatever its version: the package that depends on the current kernel. The cloud's is the smallest.
KERNEL_PACKAGE = "linux-image-cloud-amd64"

#: Beyond it, an emulation has hung: it starts within minutes, and then judges several batches a second.
STARTING_SECONDS = 1_800
SECONDS_PER_BATCH = 2

#: How the lines of the boot loader and of the kernel begin.
NOT_THE_PROGRAM = ("\x1b", "[", "Poking KASLR")

#: How often the console's file is read.
POLL_SECONDS = 1

#: What the kernel is told, each because of a fault of Bochs 2.7: PKU's state lies where AVX-512's begins, supervisor
#: states have no size, "fast short REP MOVSB" is announced without "enhanced REP MOVSB", and APERF is missing.
KERNEL_ARGUMENTS = (
    "console=ttyS0,115200 quiet panic=0 mitigations=off tsc=reliable no_timer_check "
    "nopku clearcpuid=pku,ospke,xsaves,xsavec,fsrm,erms,aperfmperf"
)

GRUB_CONFIGURATION = f"""
set timeout=0
menuentry judge {{
  linux /boot/vmlinuz {KERNEL_ARGUMENTS}
  initrd /boot/initrd
}}
"""

#: Swift's runtime reads its arguments in /proc.
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/accelerated-check judge /cases.txt
echo "judge exited with $?"
exec /bin/busybox poweroff -f
"""

BOCHS_CONFIGURATION = """
config_interface: textconfig
display_library: term
plugin_ctrl: unmapped=1, biosdev=0, speaker=0, parallel=0, iodebug=0, extfpuirq=0
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
megs: 1024
cpu: model=tigerlake, count=1, ips=50000000, reset_on_triple_fault=0
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=console.txt
log: bochs.log
panic: action=fatal
error: action=report
info: action=ignore
clock: sync=none
"""


class Machine:
    def __init__(self, program, directory):
        self.program, self.directory = program, directory
        subprocess.run([INSTALL, "emulator"], check=True)
        self.kernel = self._fetch_kernel()

    def judge(self, cases, name):
        """Returns the exit code of `accelerated-check judge`, or a text that says why there is none."""
        folder = self.directory / cases.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._make_disc(folder, cases)
        (folder / "bochsrc").write_text(BOCHS_CONFIGURATION)
        # Debian's Bochs begins in its debugger.
        (folder / "commands").write_text("continue\n")
        batches = cases.read_text().count("\n\n")
        return self._run(folder, name, STARTING_SECONDS + batches * SECONDS_PER_BATCH)

    def _fetch_kernel(self):
        folder = self.directory / "kernel"
        if not list(folder.glob("boot/vmlinuz-*")):
            folder.mkdir(exist_ok=True)
            as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
            subprocess.run([*as_root, "apt-get", "update", "-qq"], check=True)
            depends = subprocess.run(["apt-cache", "depends", KERNEL_PACKAGE], capture_output=True, text=True, check=True)
            package = re.search(r"Depends: (linux-image-\S+)", depends.stdout)[1]
            print(f"Downloading {package} with apt-get", flush=True)
            subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True)
            (archive,) = folder.glob("*.deb")
            subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
            archive.unlink()
        return next(folder.glob("boot/vmlinuz-*"))

    def _make_disc(self, folder, cases):
        root, boot = folder / "root", folder / "disc" / "boot"
        for made in (root / "bin", root / "proc", boot / "grub"):
            made.mkdir(parents=True)
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        shutil.copy(shutil.which("busybox"), root / "bin")
        subprocess.run(["strip", "-o", root / "bin" / "accelerated-check", self.program], check=True)
        shutil.copy(cases, root / "cases.txt")
        for library in self._libraries():
            copy = root / library.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        packing = "find . | cpio --quiet --create --format newc | gzip"
        with (boot / "initrd").open("wb") as file:
            subprocess.run(["bash", "-c", f"set -o pipefail; {packing}"], cwd=root, stdout=file, check=True)
        shutil.copy(self.kernel, boot / "vmlinuz")
        (boot / "grub" / "grub.cfg").write_text(GRUB_CONFIGURATION)
        making = subprocess.run(
            ["grub-mkrescue", "--output", folder / "disc.iso", folder / "disc"], capture_output=True, text=True)
        if making.returncode != 0:
            raise RuntimeError(f"grub-mkrescue: {making.stderr}")

    def _libraries(self):
        listed = subprocess.run(["ldd", self.program], capture_output=True, text=True, check=True).stdout
        return [Path(path) for path in re.findall(r"(/\S+)", listed)]

    def _run(self, folder, name, seconds):
        # Its display is a terminal of its own, which nobody watches.
        terminal, end = pty.openpty()
        bochs = subprocess.Popen(
            ["bochs", "-q", "-f", "bochsrc", "-rc", "commands"], cwd=folder, stdin=end, stdout=end, stderr=end,
            env={**os.environ, "TERM": "vt100"}, start_new_session=True)
        os.close(end)
        os.set_blocking(terminal, False)
        shown, deadline = 0, time.monotonic() + seconds
        try:
            while time.monotonic() < deadline:
                is_over = bochs.poll() is not None
                self._drain(terminal)
                lines = self._console(folder)
                for line in lines[shown:]:
                    if not line.startswith(NOT_THE_PROGRAM):
                        print(f"{name}: {line}", flush=True)
                shown = max(shown, len(lines))
                for line in lines:
                    if exited := re.search(r"judge exited with (\d+)", line):
                        return int(exited[1])
                    if "Kernel panic" in line:
                        return line
                if is_over:
                    return f"the emulator ended with {bochs.returncode}"
                time.sleep(POLL_SECONDS)
            return f"no answer within {seconds} s"
        finally:
            bochs.kill()
            bochs.wait()
            os.close(terminal)

    def _console(self, folder):
        """Returns the whole lines that were printed so far."""
        try:
            text = (folder / "console.txt").read_text(errors="replace")
        except FileNotFoundError:
            return []
        return [line.rstrip() for line in text.split("\n")[:-1]]

    def _drain(self, terminal):
        try:
            while os.read(terminal, 1 << 16):
                pass
        except (BlockingIOError, OSError):
            pass
