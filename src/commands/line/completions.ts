import type { Shell } from './completion.ts';
import type { Completion, CommandSpec, OptionSpec } from './spec.ts';
import { commandLines } from './table.ts';

/** Scripts that complete the command line in a shell, from the table of commands. */

const specs: readonly CommandSpec[] = Object.values(commandLines);
const optionsOf = ({ options }: CommandSpec): [string, OptionSpec][] => [
  ...Object.entries(options),
  ['help', { type: 'boolean', help: 'prints the help' }],
];

/** Options whose value has this completion, as a pattern of case. */
function valuePatterns(spec: CommandSpec): [pattern: string, complete: Completion | null][] {
  return Object.entries(spec.options)
    .filter(([, { type }]) => type === 'string')
    .map(([name, { complete }]) => [`--${name}`, complete ?? null]);
}

/** One line of compgen is one path, which may contain spaces. */
const bashPaths = (kind: '-f' | '-d'): string =>
  `local IFS=$'\\n'; COMPREPLY=($(compgen ${kind} -- "$current")); compopt -o filenames 2>/dev/null`;

function bashWords(complete: Completion | null): string {
  if (complete === null) return 'COMPREPLY=()';
  if (complete === 'file') return bashPaths('-f');
  if (complete === 'folder') return bashPaths('-d');
  return `COMPREPLY=($(compgen -W '${complete.join(' ')}' -- "$current"))`;
}

function bash(): string {
  const cases = specs.flatMap((spec) => [
    `    ${spec.name})`,
    '      case "$previous" in',
    ...valuePatterns(spec).map(([name, complete]) => `        ${name}) ${bashWords(complete)}; return ;;`),
    '      esac',
    '      if [[ "$current" == -* ]]; then',
    `        COMPREPLY=($(compgen -W '${optionsOf(spec)
      .map(([name]) => `--${name}`)
      .join(' ')}' -- "$current"))`,
    '      else',
    `        ${bashWords(spec.complete)}`,
    '      fi ;;',
  ]);
  return [
    '# bash completion for location-agent',
    '_location_agent() {',
    '  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}',
    '  COMPREPLY=()',
    '  if [[ $COMP_CWORD -eq 1 ]]; then',
    `    COMPREPLY=($(compgen -W '${specs.map(({ name }) => name).join(' ')} --help --version' -- "$current"))`,
    '    return',
    '  fi',
    '  case "${COMP_WORDS[1]}" in',
    ...cases,
    '  esac',
    '}',
    'complete -F _location_agent location-agent',
    '',
  ].join('\n');
}

/** Text inside a word in single quotes of zsh's _arguments, where brackets and colons have a meaning. */
const zshText = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, '\\$&');

function zshAction(complete: Completion | null): string {
  if (complete === 'file') return '_files';
  if (complete === 'folder') return '_files -/';
  return complete === null ? ' ' : `(${complete.join(' ')})`;
}

function zsh(): string {
  const cases = specs.flatMap((spec) => [
    `    ${spec.name})`,
    '      _arguments -S \\',
    ...optionsOf(spec).map(([name, { type, value, multiple, help, complete }]) => {
      const argument =
        type === 'string' ? `:${zshText(value ?? 'value')}:${zshAction(complete ?? null)}` : '';
      return `        '${multiple === true ? '*' : ''}--${name}[${zshText(help)}]${argument}' \\`;
    }),
    spec.complete === null
      ? '        && return ;;'
      : `        '1:${zshText(spec.arguments)}:${zshAction(spec.complete)}' && return ;;`,
  ]);
  return [
    '#compdef location-agent',
    '_location_agent() {',
    '  if (( CURRENT == 2 )); then',
    '    local -a commands',
    '    commands=(',
    ...specs.map(
      ({ name, summary }) => `      '${name}:${summary.replaceAll("'", "'\\''").replaceAll(':', '\\:')}'`,
    ),
    '    )',
    "    _describe -t commands 'command' commands",
    "    _arguments '--help[prints the help]' '--version[prints the version]'",
    '    return',
    '  fi',
    '  local command=${words[2]}',
    '  shift words; (( CURRENT-- ))',
    '  case "$command" in',
    ...cases,
    '  esac',
    '}',
    // Sourced from .zshrc, or loaded by name from a folder of $fpath.
    'if [[ ${funcstack[1]} == _location-agent ]]; then _location_agent "$@"; else compdef _location_agent location-agent; fi',
    '',
  ].join('\n');
}

const fishText = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishValues(complete: Completion | null): string {
  if (complete === 'file') return ' -F';
  if (complete === 'folder') return " -a '(__fish_complete_directories)'";
  return complete === null ? '' : ` -a ${fishText(complete.join(' '))}`;
}

function fish(): string {
  const first = '__fish_use_subcommand';
  return [
    '# fish completion for location-agent',
    'complete -c location-agent -f',
    `complete -c location-agent -n ${first} -l help -d 'prints the help'`,
    `complete -c location-agent -n ${first} -l version -d 'prints the version'`,
    ...specs.flatMap((spec) => {
      const within = `complete -c location-agent -n '__fish_seen_subcommand_from ${spec.name}'`;
      return [
        `complete -c location-agent -n ${first} -a ${spec.name} -d ${fishText(spec.summary)}`,
        ...optionsOf(spec).map(
          ([name, option]) =>
            `${within} -l ${name}${option.type === 'string' ? ` -r${fishValues(option.complete ?? null)}` : ''} -d ${fishText(option.help)}`,
        ),
        ...(spec.complete === null ? [] : [`${within}${fishValues(spec.complete)}`]),
      ];
    }),
    '',
  ].join('\n');
}

/** The completion script of a shell. */
export function completionScript(shell: Shell): string {
  return { bash, zsh, fish }[shell]();
}
