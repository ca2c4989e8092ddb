#!/usr/bin/env node
import './commands/doctor/guard-process.ts'; // first: before any other module runs
import type { Command, CommandContext } from './commands/command.ts';
import { environment } from './config.ts';
import { exitCodes, FatalError, toError } from './errors.ts';
import { version } from './version.ts';

type Entry = { usage: string; summary: string; options?: readonly string[]; load: () => Promise<Command> };

// Each command is loaded when it is called, so that the agent does not load the service.
const commands: { readonly [name: string]: Entry } = {
  start: {
    usage: 'start',
    summary: 'the agent: claims jobs of its private location and runs them',
    load: async () => (await import('./commands/start.ts')).start,
  },
  service: {
    usage: 'service',
    summary: 'the monitoring service: public API, scheduler, job queue, results',
    load: async () => (await import('./commands/service.ts')).service,
  },
  dev: {
    usage: 'dev',
    summary: 'starts the service, one agent, sample targets and sample checks on your computer',
    load: async () => (await import('./commands/dev/dev.ts')).dev,
  },
  run: {
    usage: 'run FILE|DIR [--json]',
    summary:
      'runs a check once on this machine: JSON (a create body plus checkType), a script, or a Playwright project',
    options: [
      'scripts: [--type BROWSER|MULTI_STEP] [--runtime NAME] [--env NAME=VALUE]… [--output DIR]',
      'folders: [--project NAME]… [--tag TAG]… [--config FILE] [--engine node@24|bun] [--include GLOB]…',
      '         [--install-command TEXT] [--test-command TEXT] [--refresh-cache] [--env …]… [--output DIR]',
    ],
    load: async () => (await import('./commands/run/run.ts')).run,
  },
  bundle: {
    usage: 'bundle DIR [--json]',
    summary: 'packs a Playwright project and uploads it to the service; prints {"key","digest"}',
    options: ['[--include GLOB]… [--api-key-file FILE]'],
    load: async () => (await import('./commands/bundle.ts')).bundle,
  },
  doctor: {
    usage: 'doctor [--json]',
    summary: 'checks this machine: shows what works, what does not, and how to fix it',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
};

/** Width of the column of commands. */
const width = 24;
const usage = [
  'usage: location-agent <command>',
  '',
  ...Object.values(commands).flatMap(({ usage: words, summary, options }) => [
    `  ${words.padEnd(width)}${summary}`,
    ...(options ?? []).map((line) => `  ${''.padEnd(width)}${line}`),
  ]),
  `  ${'--help'.padEnd(width)}prints this text`,
  `  ${'--version'.padEnd(width)}prints the version`,
  '',
].join('\n');

/** Runs the command that `args` names and returns the exit code. Errors have been printed as one line by then. */
async function main(args: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    context.stdout(`${version}\n`);
    return exitCodes.done;
  }
  if (name === '--help' || name === '-h' || name === 'help' || rest.includes('--help')) {
    context.stdout(usage);
    return exitCodes.done;
  }
  const entry = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    context.stderr(name === undefined ? usage : `location-agent: unknown command "${name}"\n${usage}`);
    return exitCodes.usage;
  }
  try {
    const command = await entry.load().catch((error: unknown) => {
      throw isLeftOut(error)
        ? new FatalError(
            'CONFIGURATION',
            `this image does not contain "${name}"; use the image with all check types`,
            {
              exitCode: exitCodes.couldNotRun,
            },
          )
        : error;
    });
    return await command(rest, context);
  } catch (error: unknown) {
    return explain(toError(error), context);
  }
}

/** The uptime image contains the modules of only two commands. */
function isLeftOut(error: unknown): boolean {
  const { code, message } = toError(error) as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && /[\\/]commands[\\/](?:[\w-]+[\\/])?[\w-]+\.js'/.test(message);
}

function explain(error: Error, context: CommandContext): number {
  if (error instanceof FatalError) {
    context.stderr(`location-agent: ${error.message}\n`);
    return error.exitCode;
  }
  context.stderr(`location-agent: unexpected error: ${error.message.split('\n')[0] ?? error.name}\n`);
  if (context.env['LOG_LEVEL']?.toUpperCase() === 'DEBUG') context.stderr(`${error.stack ?? ''}\n`);
  return exitCodes.couldNotRun;
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
