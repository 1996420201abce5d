"""What calls beyond its capacity do to a server (rpc/overload); SECONDS=5 for each load."""

import subprocess

from service import built


def main():
    subprocess.run([built("rpc-overload")], check=True)


if __name__ == "__main__":
    main()
