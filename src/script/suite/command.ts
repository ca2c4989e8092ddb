import type { Suite } from '../../protocol/suite.ts';
import { quoted } from '../process/shell-word.ts';
import type { PackageManager } from './place/place.ts';

/** The shell command that runs a suite's tests, with warnings for the customer. */
export type TestCommand = { command: string; warnings: string[] };

/**
 * The check's test command, or Playwright run by the project's package manager, with the check's config, projects and
 * tags. They are added to each `playwright test` of a command with several programs, otherwise to its end.
 */
export function testCommandOf(options: {
  suite: Pick<Suite, 'testCommand' | 'configPath' | 'projects' | 'tags'>;
  manager: Pick<PackageManager, 'exec'>;
}): TestCommand {
  const { suite, manager } = options;
  const base = suite.testCommand?.trim() ?? '';
  const command = base === '' ? `${manager.exec} playwright test` : base;
  const added = [
    ...(suite.configPath === null || suite.configPath === '' ? [] : [`--config ${quoted(suite.configPath)}`]),
    // One option each, because a list would also take the next words of the command as projects.
    ...suite.projects.map((project) => `--project=${quoted(project)}`),
    ...(suite.tags.length === 0 ? [] : [`--grep ${quoted(tagPattern(suite.tags))}`]),
  ].join(' ');
  const warnings = warningsOf(command);
  return { command: added === '' ? command : withArguments(command, added), warnings };
}

/**
 * A regular expression for `--grep`: a test must match any of `tags`. Each is a tag or several tags that must all
 * match; `!tag` excludes a tag. Tags match as whole words.
 */
export function tagPattern(tags: readonly string[]): string {
  return tags
    .map((entry) => {
      const words = entry.split(/\s+/).filter((word) => word !== '' && word !== '!');
      const [only] = words;
      if (words.length === 1 && only !== undefined && !only.startsWith('!')) return tagExpression(only);
      const conditions = words.map((word) =>
        word.startsWith('!')
          ? `(?![\\s\\S]*${tagExpression(word.slice(1))})`
          : `(?=[\\s\\S]*${tagExpression(word)})`,
      );
      return `^${conditions.join('')}`;
    })
    .join('|');
}

function tagExpression(tag: string): string {
  const name = tag.startsWith('@') ? tag.slice(1) : tag;
  return `@${name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?![\\w-])`;
}

const runsTests = /\bplaywright(?:@\S+)?\s+test\b/;

function withArguments(command: string, added: string): string {
  const parts = programsOf(command);
  if (!parts.some(({ text }) => runsTests.test(text))) {
    const last = parts.findLast(({ text }) => text.trim() !== '');
    return last === undefined ? `${command} ${added}` : insert(command, [last], added);
  }
  return insert(
    command,
    parts.filter(({ text }) => runsTests.test(text)),
    added,
  );
}

/** Appends `added` to each of `parts`. */
function insert(command: string, parts: readonly Program[], added: string): string {
  return parts.toReversed().reduce((text, part) => {
    const end = part.start + part.text.trimEnd().length;
    // npm passes to a script only the words after a double dash.
    const dash = /^\s*(?:\S+=\S*\s+)*npm\s+(?:run|run-script|test|t)\b/.test(part.text);
    const words = dash && !/\s--(?:\s|$)/.test(part.text) ? `-- ${added}` : added;
    return `${text.slice(0, end)} ${words}${text.slice(end)}`;
  }, command);
}

type Program = { start: number; text: string };

/** The programs of a shell command: the words between its operators, line ends and brackets, outside of quotes. */
function programsOf(command: string): Program[] {
  const programs: Program[] = [];
  let start = 0;
  let quote = '';
  const close = (end: number) => {
    programs.push({ start, text: command.slice(start, end) });
    start = end + 1;
  };
  for (let at = 0; at < command.length; at++) {
    const character = command.charAt(at);
    if (character === '\\' && quote !== "'") {
      at++;
    } else if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === "'" || character === '"') {
      quote = character;
    } else if (character === '#' && /^$|\s/.test(command.charAt(at - 1))) {
      // A comment, up to the end of its line.
      close(at);
      const end = command.indexOf('\n', at);
      at = end === -1 ? command.length : end;
      start = at + 1;
    } else if (character === '&' && /[<>]/.test(command.charAt(at - 1))) {
      continue; // 2>&1
    } else if (/[;&|()\n]/.test(character)) {
      close(at);
    }
  }
  if (start < command.length) close(command.length);
  return programs;
}

function warningsOf(command: string): string[] {
  const warnings: string[] = [];
  if (/\bplaywright(?:@\S+)?\s+install\b/.test(command)) {
    warnings.push('"playwright install" in the test command is not needed: browsers are installed before it');
  }
  if (/\s--headed\b/.test(command)) {
    warnings.push('--headed in the test command does not work here: there is no screen for a window');
  }
  if (/\s--ui\b|\s--debug\b/.test(command)) {
    warnings.push(
      '--ui and --debug in the test command wait for a person: the run will exceed its time limit',
    );
  }
  return warnings;
}
