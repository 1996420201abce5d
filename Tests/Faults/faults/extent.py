"""How often the tests do what is random: least in `make test`, more in CI (TOUCHSTONE_ALL_SEEDS=1), most in `make soak`."""

import os

_ALL = os.environ.get("TOUCHSTONE_ALL_SEEDS") == "1"

#: A soak plays the release build, so that commands take their time there by what they have to do.
IS_SOAK = "FAULTS_KILLS" in os.environ


def kills(usual, *, in_ci):
    return int(os.environ.get("FAULTS_KILLS") or (in_ci if _ALL else usual))
