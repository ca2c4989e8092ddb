import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf } from './commands.ts';
import { notRun } from './not-run.ts';

/** A reader of the pages: types the commands of a page, in order, in a folder with the files that the pages speak of. */

/** What the reader has: a running service, its keys, an agent, a site, and resources with these ids. */
export type Place = {
  main: string;
  root: string;
  serviceUrl: string;
  accountKey: string;
  locationKey: string;
  agentUrl: string;
  siteUrl: string;
  ids: { readonly [variable: string]: string };
};

export type Block = { language: string; marks: string[]; content: string; line: number };

/** The location that the agent serves. */
export const slug = 'berlin';

const spec = `import { expect, test } from '@playwright/test';
test('login', async ({ page }) => {
  await page.goto(process.env.SITE_URL ?? 'https://shop.example/');
  await expect(page.getByRole('heading')).toHaveText('Shop');
});
`;

/** Files that pages take for granted, because each reader has files of their own. */
const files = ({ accountKey, locationKey }: Place): { readonly [name: string]: string } => ({
  'check.json':
    '{ "checkType": "URL", "name": "Home page", "privateLocations": ["berlin"], "request": { "url": "https://shop.example/" } }',
  'probe.json':
    '{ "checkType": "URL", "name": "Probe", "privateLocations": ["berlin"], "request": { "url": "https://shop.example/" } }',
  'targets.txt': 'shop https://shop.example/\n',
  'login.ts': spec,
  'login.spec.ts': spec,
  'location-key': `${locationKey}\n`,
  'account-key': `${accountKey}\n`,
  key: 'a key of at least sixteen letters\n',
  '.data/keys.json': JSON.stringify({ apiKey: accountKey, locationSlug: slug }),
  'e2e/package.json':
    '{ "name": "e2e", "private": true, "devDependencies": { "@playwright/test": "1.65.1" } }',
  'e2e/package-lock.json': '{ "name": "e2e", "lockfileVersion": 3, "packages": {} }',
  'e2e/playwright.config.ts': 'export default {};\n',
  'e2e/shop.spec.ts': spec,
});

/** Files that only some pages take for granted; others write them. */
const project = {
  'monitoring/project.yaml': 'logicalId: office\nprojectName: Office\n',
  'monitoring/home.yaml': `kind: check
logicalId: home
checkType: URL
name: Office
privateLocations: [${slug}]
request:
  url: https://shop.example/
tags: [smoke]
`,
};
const ownFiles: { readonly [path: string]: { readonly [name: string]: string } } = {
  'docs/commands.md': project,
  'docs/commands/checks-as-code.md': project,
};

/** A command of a page with the hosts, keys and ellipses of this reader. */
function typed(command: string, place: Place): string {
  const { serviceUrl, siteUrl, agentUrl, accountKey, locationKey } = place;
  const values: readonly (readonly [RegExp, string])[] = [
    [/https:\/\/monitoring\.example(?:\.com)?|http:\/\/(?:127\.0\.0\.1|service\.example):4400/g, serviceUrl],
    [/(SERVICE_URL=)https:\/\/…/g, `$1${serviceUrl}`],
    [/http:\/\/(?:127\.0\.0\.1|agent-1\.example):8081/g, agentUrl],
    [/https:\/\/(?:shop|intranet|hooks)\.example/g, siteUrl],
    [/pl_…/g, locationKey],
    [/SERVICE_API_KEY=…/g, `SERVICE_API_KEY=${accountKey}`],
    [/"value": "…"/g, '"value": "a value"'],
    [/"0199…"/g, `"'"$ID"'"`],
    // Where the agent is.
    [/"locations": \["eu-west-1"\]/g, `"privateLocations": ["${slug}"]`],
    [/\blocations: \[eu-west-1\]/g, `privateLocations: [${slug}]`],
    [/--location eu-west-1/g, `--location ${slug}`],
    [/"my-datacenter"/g, `"${slug}"`],
    // A second location of this name would be refused.
    [/"slugName":"berlin"/g, '"slugName":"berlin-office"'],
    [/\bnode dist\/main\.js\b/g, 'location-agent'],
    [/\bnode scripts\//g, `node ${place.root}/scripts/`],
    [/\bnpm run\b/g, `npm --silent --prefix ${place.root} run`],
  ];
  return values.reduce((text, [pattern, value]) => text.replace(pattern, value), command);
}

/** Functions in place of the programs: they notice refusals, and keep the ids of answers as a reader would. */
const prelude = `set -eEuo pipefail
trap 'echo "@@ failed at $AT: $BASH_COMMAND" >&2' ERR
AT=start REFUSED=
curl() {
  local answer code=0
  case " $* " in *' -N '*) command curl -sS --max-time 2 "$@" || [ $? = 28 ]; return ;; esac
  answer=$(command curl -sS --fail-with-body "$@") || code=$?
  printf '%s\\n' "$answer"
  if [ -n "$REFUSED" ]; then [ $code = 22 ]; return; fi
  if [ $code != 0 ]; then echo "$answer" >&2; return $code; fi
  if [[ $answer =~ \\"(id|checkSessionId)\\":\\"?([^\\",}]+) ]]; then ID=\${BASH_REMATCH[2]}; fi
  if [[ $answer =~ \\"token\\":\\"([^\\"]+) ]]; then TOKEN=\${BASH_REMATCH[1]}; fi
}
# Prints the first answer again: the same question, for all pages.
asked_once() {
  local answer=\${READER%/*}/answer-\${SERVICE_URL:+service}-\${API_KEY:+key}-$(printf '%s' "$*" | tr -c 'a-zA-Z0-9' -)
  [ -f "$answer" ] || "$@" > "$answer.part" || return
  [ -f "$answer" ] || mv "$answer.part" "$answer"
  cat "$answer"
}
# Findings of this machine are no mistakes of the page.
doctor() { node "$MAIN" "$@" || [ $? = 1 ]; }
npm() { asked_once command npm "$@"; }
location-agent() {
  case \${1:-} in
    start | service) node "$STARTED" --liftoff-only "$MAIN" "$@"; return ;;
    doctor) asked_once doctor "$@"; return ;;
    plan) node "$MAIN" "$@" || [ $? = 2 ]; return ;;
  esac
  node "$MAIN" "$@"
}
`;

/** Starts a program of ours on free ports, waits until it answers, and stops it. Run by the reader's shell. */
const startedProgram = `import { spawn } from 'node:child_process';
const env = { ...process.env, SERVICE_PORT: '0', AGENT_HEALTH_PORT: '0' };
const child = spawn(process.execPath, process.argv.slice(2), { env, stdio: ['ignore', 'pipe', 'pipe'] });
let text = '', isReady = false;
for (const stream of [child.stdout, child.stderr]) stream.on('data', (more) => {
  text += more;
  if (isReady || !/"ready":true|agent started/.test(text)) return;
  isReady = true;
  child.kill('SIGTERM');
});
child.on('close', (code) => {
  if (!isReady || code !== 0) process.stderr.write(text);
  process.exit(isReady ? code : 1);
});
`;

/** Which commands of a block are typed, and the reasons of the others. */
export function sorted(content: string): { command: string; reason: string | null }[] {
  return commandsOf(content).map((command) => {
    const bare = command
      .split('\n')
      .filter((line) => !/^\s*#/.test(line))
      .join('\n');
    const reason = Object.entries(notRun).find(([, pattern]) => pattern.test(bare))?.[0] ?? null;
    return { command, reason };
  });
}

/** The page as one script: each block begins in the page's folder. */
function scriptOf(path: string, blocks: readonly Block[], place: Place): string {
  const parts = blocks.map(({ content, line, marks }) => {
    const commands = sorted(content).map(({ command, reason }) =>
      reason === null ? typed(command, place) : ':',
    );
    const refused = marks.includes('refused') ? 'yes' : '';
    return `AT=${path}:${line} REFUSED=${refused}\ncd "$READER/page"\n${commands.join('\n')}\n`;
  });
  return prelude + parts.join('');
}

/** Types the blocks of a page. Resolves with the exit code and everything that was printed. */
export async function readPage(
  path: string,
  blocks: readonly Block[],
  place: Place,
  folder: string,
): Promise<{ code: number | null; output: string }> {
  const reader = mkdtempSync(join(folder, 'reader-'));
  for (const [name, content] of Object.entries({ ...files(place), ...ownFiles[path] })) {
    const file = join(reader, 'page', name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, typed(content, place));
  }
  writeFileSync(join(reader, 'started.mjs'), startedProgram);
  // From a file: commands that read their input would read the script.
  writeFileSync(join(reader, 'typed.sh'), scriptOf(path, blocks, place));
  const child = spawn('bash', [join(reader, 'typed.sh')], {
    cwd: reader,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}`,
      HOME: process.env['HOME'],
      MAIN: place.main,
      READER: reader,
      STARTED: join(reader, 'started.mjs'),
      SERVICE_DATA_DIR: join(reader, 'service'),
      AGENT_DATA_DIR: join(reader, 'agent'),
      SITE_URL: place.siteUrl,
      SERVICE_URL: place.serviceUrl,
      SERVICE_API_KEY: place.accountKey,
      LOCATION_KEY: place.locationKey,
      ...place.ids,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}
