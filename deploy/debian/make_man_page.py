#!/usr/bin/env python3
"""Writes touchstone(1) from the program's own help: `make man` runs it, and Tests/Acceptance compares the result.

    touchstone --experimental-dump-help | deploy/debian/make_man_page.py >deploy/debian/touchstone.1
"""

import json
import sys

BEGINNING = r"""
.TH TOUCHSTONE 1 "" "Touchstone" "User Commands"
.SH NAME
touchstone \- the server side of Touch ID, Face ID and gesture login
.SH SYNOPSIS
.B touchstone
.I COMMAND
.RI [ OPTION ...]
.br
.B touchstone
.I COMMAND
.B \-\-help
.SH DESCRIPTION
Touchstone serves gRPC to an application's backend.
It proves that a key which the user bound after a password login signed a login or a payment, and it counts, locks and audits every
attempt.
.PP
The package's systemd unit runs
.B touchstone serve \-\-config /etc/touchstone/touchstone.yaml
as the user touchstone.
.SH COMMANDS
""".lstrip()

END = r"""
.SH EXIT STATUS
0: done, or drained. 1: refused by the state of what the command is about, or not serving. 64: wrong usage. 66: there is no such file,
profile, device, binding or event. 69: the address cannot be used, or the service or the database is out of reach. 75: too busy, or in use.
76: the data is of another version. 77: keys or data are not protected, or the service refuses the caller. 78: the configuration is wrong.
docs/OPERATING.md of the sources lists all.
.SH FILES
.TP
.I /etc/touchstone/touchstone.yaml
The configuration.
.TP
.I /var/lib/touchstone
The database and, under keys, its keys. Removing the package leaves them.
.TP
.I /usr/share/doc/touchstone/examples
A configuration with every setting, policies, and a role for PostgreSQL.
""".lstrip()

#: Every command has these.
GENERAL = {"version", "help"}


def text(plain):
    """Plain text as troff takes it."""
    escaped = plain.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + escaped if escaped.startswith((".", "'")) else escaped


def paragraphs(command):
    """The lines of the abstract and of the discussion, which has empty lines between its paragraphs."""
    lines = []
    for part in [command["abstract"], *command.get("discussion", "").split("\n\n")]:
        if part.strip():
            lines += ([".PP"] if lines else []) + [text(" ".join(part.split()))]
    return lines


def options(command):
    return [it for it in command.get("arguments", []) if it["kind"] != "positional" and is_shown(it)]


def is_shown(argument):
    return argument["shouldDisplay"] and not GENERAL & {name["name"] for name in argument.get("names", [])}


def positional(argument):
    name = argument["valueName"] + (" ..." if argument["isRepeating"] else "")
    return rf"[\fI{text(name)}\fR]" if argument["isOptional"] else rf"\fI{text(name)}\fR"


def usage(names, command, own):
    words = [rf"\fB{text(' '.join(names))}\fR"]
    words += [positional(it) for it in command.get("arguments", []) if it["kind"] == "positional" and is_shown(it)]
    if own:
        words.append(r"[\fIOPTION\fR ...]")
    return " ".join(words)


def option_lines(option):
    name = option["preferredName"]
    lines = [".TP", rf"\fB{text(('--' if name['kind'] == 'long' else '-') + name['name'])}\fR"]
    if option["kind"] == "option":
        lines[-1] += rf" \fI{text(option['valueName'])}\fR"
    told = option.get("abstract", "")
    if "defaultValue" in option:
        told += f" (default: {option['defaultValue']})"
    return [*lines, text(" ".join(told.split())) or r"\&"]


def leaves(names, command):
    """The commands that do something, each with all its names."""
    if not command.get("subcommands"):
        yield names, command
    for sub in command.get("subcommands", []):
        yield from leaves([*names, sub["commandName"]], sub)


def section(command):
    """A command of the first level: what it is, the options that all of its commands have, then each of these."""
    names = ["touchstone", command["commandName"]]
    below = list(leaves(names, command))
    is_group = bool(command.get("subcommands"))
    common = [it for it in options(below[0][1]) if all(it in options(leaf) for _, leaf in below)]
    lines = [f".SS {text(command['commandName'])}", *paragraphs(command)]
    if not is_group:
        lines += [".PP", usage(names, command, own=bool(common))]
    elif common and len(below) > 1:
        lines += [".PP", "All of these commands have the options:"]
    if not is_group or len(below) > 1:
        for option in common:
            lines += option_lines(option)
    else:
        common = []
    for leaf_names, leaf in below if is_group else []:
        own = [it for it in options(leaf) if it not in common]
        lines += [".PP", usage(leaf_names, leaf, own=bool(own) or bool(common)), ".RS", ".PP", *paragraphs(leaf)]
        for option in own:
            lines += option_lines(option)
        lines.append(".RE")
    return lines


def page(dumped):
    lines = []
    for command in dumped["command"]["subcommands"]:
        if command["shouldDisplay"] and command["commandName"] != "help":
            lines += section(command)
    return BEGINNING + "\n".join(lines) + "\n" + END


if __name__ == "__main__":
    sys.stdout.write(page(json.load(sys.stdin)))
