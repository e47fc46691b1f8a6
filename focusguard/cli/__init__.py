"""The command line. Sub-commands are imported when they are asked for, so that `--help` answers at once."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from importlib import metadata

import click

from focusguard.electron.errors import RigError
from focusguard.errors import GuardError
from focusguard.groups import first_error

#: Sub-command -> (module, attribute, one line of help). The help stands here so that listing imports nothing.
COMMANDS = {
    "run": ("focusguard.cli.run", "run", "Start an Electron app with its guest pages behind the guard."),
    "attach": ("focusguard.cli.run", "attach", "Guard an app that runs already, through its debugging port."),
    "serve": ("focusguard.cli.serve", "serve", "Guard apps at an endpoint that clients can keep."),
    "watch": ("focusguard.cli.watch", "watch", "Show what a guard that runs is doing."),
    "probe": ("focusguard.cli.probe", "probe", "Measure where agent input lands, raw and guarded."),
    "soak": ("focusguard.cli.soak", "soak", "Have a person type on while agents do everything they can."),
    "doctor": ("focusguard.cli.doctor", "doctor", "Check what the guard needs here, and in an app."),
    "electron": ("focusguard.cli.electron", "electron", "List, install and find Electron runtimes."),
}
#: Errors whose message is all that a user needs.
OUR_ERRORS = (RigError, GuardError)
#: What a shell reports for a program that Ctrl-C ended.
INTERRUPTED = 128 + signal.SIGINT


class LazyGroup(click.Group):
    """A group whose commands are loaded by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _help = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


def version() -> str:
    """The installed package's version."""
    try:
        return metadata.version("focusguard")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"


def _show_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"focusguard {version()}")
        ctx.exit()


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show it."
)
def cli() -> None:
    """Keeps an agent's input in its own page, and a person's keystrokes in theirs, in Electron apps.

    \b
    Examples:
      focusguard electron install          fetch the default Electron
      focusguard probe --quick             measure where input lands
      focusguard run -- path/to/electron path/to/app    start an app behind the guard
    """


def main() -> None:
    """Runs the command line: 0 is success, 1 a finding or a failure, 2 wrong usage, 130 an interruption."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    try:
        result = cli.main(arguments, prog_name="focusguard", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python would complain again when it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OUR_ERRORS as error:
        _say(error)
        return 1
    except BaseExceptionGroup as group:
        return _report_group(group)


def _report_group(group: BaseExceptionGroup[BaseException]) -> int:
    """Reports what a task group raised, as one line where every member is an error of ours."""
    interrupted, others = group.split((KeyboardInterrupt, click.Abort))
    if others is None and interrupted is not None:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    known, unknown = group.split((*OUR_ERRORS, click.ClickException))
    if known is None or unknown is not None:
        raise group
    leaf = first_error(known)
    _say(leaf)
    return leaf.exit_code if isinstance(leaf, click.ClickException) else 1


def _say(error: BaseException) -> None:
    click.echo(f"focusguard: {' '.join(str(error).split())}", err=True)
