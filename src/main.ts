#!/usr/bin/env node
import './commands/doctor/guard-process.ts'; // first: before any other module runs
import { usageError, type Command, type CommandContext } from './commands/command.ts';
import { internalFault } from './commands/last-words.ts';
import { commandHelp, programHelp } from './commands/line/help.ts';
import type { CommandSpec } from './commands/line/spec.ts';
import { commandLines, commandNames, isCommand, type CommandName } from './commands/line/table.ts';
import { environment, readLogStyle } from './config.ts';
import { misspeltVariables } from './config/misspelt.ts';
import { exitCodes, FatalError, toError } from './errors.ts';
import { jsonStyle, styledLine } from './log-line.ts';
import { readPeersSafely } from './native/tls-peer.ts';
import { nearestName } from './nearest-name.ts';
import { version } from './version.ts';

// Each command is loaded when it is called, so that the agent does not load the service.
const load: { readonly [N in CommandName]: () => Promise<Command> } = {
  start: async () => (await import('./commands/start.ts')).start,
  service: async () => (await import('./commands/service.ts')).service,
  dev: async () => (await import('./commands/dev/dev.ts')).dev,
  run: async () => (await import('./commands/run/run.ts')).run,
  bundle: async () => (await import('./commands/bundle.ts')).bundle,
  plan: async () => (await import('./commands/project/apply.ts')).plan,
  apply: async () => (await import('./commands/project/apply.ts')).apply,
  test: async () => (await import('./commands/project/test.ts')).test,
  export: async () => (await import('./commands/project/export.ts')).exportProject,
  validate: async () => (await import('./commands/project/validate.ts')).validate,
  doctor: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  completion: async () => (await import('./commands/completion.ts')).completion,
};

readPeersSafely();

/** Runs the command that `args` names and returns the exit code. Errors have been printed as one line by then. */
async function main(args: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    context.stdout(`${version}\n`);
    return exitCodes.done;
  }
  if (name === undefined) {
    context.stderr(programHelp());
    return exitCodes.usage;
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    const [about] = rest;
    context.stdout(
      about !== undefined && isCommand(about) ? commandHelp(commandLines[about]) : programHelp(),
    );
    return exitCodes.done;
  }
  if (!isCommand(name)) return explain(unknownCommand(name), context);
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (own.includes('--help') || own.includes('-h')) {
    context.stdout(commandHelp(commandLines[name]));
    return exitCodes.done;
  }
  return runCommand(name, rest, context);
}

async function runCommand(
  name: CommandName,
  args: readonly string[],
  plain: CommandContext,
): Promise<number> {
  // A program that runs for long writes for machines; the others write for the person at the terminal.
  const preferred = name === 'start' || name === 'service' ? 'json' : 'text';
  let context = plain;
  try {
    const isTerminal = process.stderr.isTTY;
    context = { ...plain, logStyle: readLogStyle(plain.env, { isTerminal, preferred }) };
    exitOnFaults(context, name);
    if (commandLines[name].variables.length > 0) warnOfMisspelt(context);
    return await (
      await loaded(name)
    )(args, context);
  } catch (error: unknown) {
    return explain(toError(error), context, name);
  }
}

function unknownCommand(name: string): FatalError {
  const nearest = nearestName(name, commandNames);
  const end = nearest === null ? '' : `; did you mean ${nearest}?`;
  return usageError(`unknown command "${name}"${end}`);
}

function loaded(name: CommandName): Promise<Command> {
  return load[name]().catch((error: unknown) => {
    throw isLeftOut(error)
      ? new FatalError('CONFIGURATION', `this image does not contain "${name}"`, {
          exitCode: exitCodes.couldNotRun,
          remedy: 'use the image with all check types',
        })
      : error;
  });
}

/** One line for each variable whose name is probably wrong. Values are not shown. */
function warnOfMisspelt({ env, stderr, logStyle = jsonStyle }: CommandContext): void {
  for (const { name, nearest } of misspeltVariables(env)) {
    const msg = `${name} is not a variable of this program: did you mean ${nearest}?`;
    stderr(styledLine(logStyle, { level: 'WARN', variable: name, nearest, msg }));
  }
}

/** The uptime image contains the modules of only two commands. */
function isLeftOut(error: unknown): boolean {
  const { code, message } = toError(error) as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && /[\\/]commands[\\/](?:[\w-]+[\\/])?[\w-]+\.js'/.test(message);
}

/** Prints the last line: what is wrong and how to fix it, in the format of the log. Returns the exit code. */
function explain(
  error: Error,
  { env, stderr, logStyle = jsonStyle }: CommandContext,
  name?: CommandName,
): number {
  const { couldNotRun = exitCodes.couldNotRun }: Partial<CommandSpec> =
    name === undefined ? {} : commandLines[name];
  if (error instanceof FatalError) {
    const remedy = error.remedy ?? `see location-agent ${name === undefined ? '' : `${name} `}--help`;
    stderr(styledLine(logStyle, { level: 'FATAL', code: error.code, remedy, msg: error.summary }));
    return error.exitCode === exitCodes.couldNotRun ? couldNotRun : error.exitCode;
  }
  const msg = `unexpected error: ${error.message.split('\n')[0] ?? error.name}`;
  const isDebug = env['LOG_LEVEL']?.toUpperCase() === 'DEBUG';
  const stack = isDebug ? { stack: error.stack ?? '' } : {};
  stderr(styledLine(logStyle, { level: 'FATAL', ...internalFault, ...stack, msg }));
  return couldNotRun;
}

/** Faults outside a command's own promise. Commands with a log of their own add listeners, which log more. */
function exitOnFaults(context: CommandContext, name: CommandName): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      if (process.listenerCount(event) === 1) process.exit(explain(toError(error), context, name));
    });
  }
}

// The reader of our output may exit early (`| head`); that is not a crash.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

// An agent started by `dev` exits when `dev` has ended for any reason.
if (process.channel !== undefined) {
  process.channel.unref();
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

process.exit(
  await main(process.argv.slice(2), {
    env: environment(),
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
  }),
);
