import { variableRows } from '../../config/variables.ts';
import { exitMeanings, optionTitle, usageOf, type CommandSpec } from './spec.ts';
import { commandLines } from './table.ts';

const width = 100;

/** Text in lines of at most 100 characters, each after `indent` spaces. */
function wrapped(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each) => `${' '.repeat(indent)}${each}`);
}

/** Two columns; a long first column gets a line of its own. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const longest = 26;
  const left = Math.min(longest, Math.max(0, ...rows.map(([title]) => title.length))) + 4;
  return rows.flatMap(([title, text]) => {
    const [first = '', ...others] = wrapped(text, left);
    return title.length + 4 > left
      ? [`  ${title}`, first, ...others]
      : [`  ${title}`.padEnd(left) + first.slice(left), ...others];
  });
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', `${title}:`, ...lines];

/** The help of one command: usage, description, options, variables, examples, exit codes. */
export function commandHelp(spec: CommandSpec): string {
  const options = Object.entries(spec.options).map(([name, option]): [string, string] => [
    optionTitle(name, option),
    option.help,
  ]);
  const variables = variableRows(spec.variables).map(({ name, fallback, meaning }): [string, string] => [
    name,
    fallback === '' ? meaning : `${meaning} (default: ${fallback})`,
  ]);
  const codes = Object.entries(spec.exitCodes).map(([code, meaning]): [string, string] => [
    code,
    meaning ?? exitMeanings[Number(code)] ?? '',
  ]);
  return [
    `usage: ${usageOf(spec)}`,
    ...spec.description.flatMap((paragraph) => ['', ...wrapped(paragraph, 0)]),
    ...section('options', columns([...options, ['--help', 'prints this text']])),
    ...section('variables', columns(variables)),
    ...section(
      'examples',
      spec.examples.flatMap(({ command, does }) => [`  # ${does}`, `  ${command}`]),
    ),
    ...section('exit codes', columns(codes)),
    '',
  ].join('\n');
}

/** The help of the program: all commands. */
export function programHelp(): string {
  const commands = Object.values<CommandSpec>(commandLines).map(
    ({ name, arguments: words, summary }): [string, string] => [`${name} ${words}`.trim(), summary],
  );
  return [
    'usage: location-agent COMMAND [options]',
    ...section('commands', columns(commands)),
    ...section(
      'options',
      columns([
        ['--help', 'prints this text; after a command: its options, variables, examples and exit codes'],
        ['--version', 'prints the version'],
      ]),
    ),
    ...section(
      'exit codes',
      columns(Object.entries(exitMeanings).map(([code, meaning]): [string, string] => [code, meaning])),
    ),
    '',
  ].join('\n');
}
