import type { CommandSpec } from './spec.ts';

/** The shells that completions are written for. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completionLine = {
  name: 'completion',
  arguments: 'bash|zsh|fish',
  complete: shells,
  summary: 'prints a script that completes commands and options in this shell',
  description: [
    'Prints completions for one shell on standard output. Load them from the start file of the shell.',
  ],
  options: {},
  variables: [],
  examples: [
    { command: 'source <(location-agent completion bash)', does: 'in ~/.bashrc' },
    { command: 'source <(location-agent completion zsh)', does: 'in ~/.zshrc, after compinit' },
    { command: 'location-agent completion fish | source', does: 'in ~/.config/fish/config.fish' },
  ],
  exitCodes: { 0: null, 64: null },
} as const satisfies CommandSpec;
