import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProject } from '../../../src/commands/project/files.ts';
import { problemsOf } from '../../../src/commands/project/validate.ts';
import { FatalError } from '../../../src/errors.ts';

/** Files of a project: YAML and JSON that somebody else may have written. Each mistake is a line, and none an error. */

export const name = 'project-files';
export const maxMs = 4000;

let root: string | null = null;

/** The first byte chooses whether the rest is the project's own file (even) or one with resources (odd). */
export async function run(data: Buffer): Promise<void> {
  root ??= mkdtempSync(join(tmpdir(), 'fuzz-project-'));
  const [isHead, text] = [(data[0] ?? 0) % 2 === 0, data.subarray(1)];
  writeFileSync(join(root, 'project.yaml'), isHead ? text : 'logicalId: shop\nprojectName: Shop\n');
  writeFileSync(join(root, 'checks.yaml'), isHead ? 'kind: check\nlogicalId: a\n' : text);
  try {
    const files = await readProject(root, { TOKEN: 'walnut' });
    const problems = [...files.problems, ...problemsOf(files)];
    if (JSON.stringify(files.resources.map(({ payload }) => payload)).length > 1_000_000)
      throw new Error('the files become huge');
    for (const problem of problems) {
      if (!/^[^:]+:\d+: /.test(problem) && !/^[^:]+: /.test(problem))
        throw new Error(`no place in ${problem}`);
    }
  } catch (error) {
    // The project's own file has no document, or cannot be read.
    if (!(error instanceof FatalError) || error.message.length > 1000) throw error;
  }
}

export const close = (): void => {
  if (root !== null) rmSync(root, { recursive: true, force: true });
};

export const seeds = (): string[] => [
  '\0logicalId: shop\nprojectName: Shop\nrepoUrl: https://git.test/shop\nchecks:\n  frequency: 5\n  tags: [a]\n',
  '\x01kind: check\ncheckType: URL\nlogicalId: a\nname: A\nlocations: [office]\nrequest:\n  url: https://shop.test\n  assertions:\n    - source: STATUS_CODE\n      comparison: EQUALS\n      target: "200"\n',
  '\x01- kind: check-group\n  logicalId: g\n  name: G\n- kind: snippet\n  logicalId: s\n  name: S\n  scriptFile: a.ts\n---\nkind: alert-channel\nlogicalId: c\ntype: EMAIL\nconfig: {address: {env: TOKEN}}\n',
  '\x01a: &a {b: 1}\nkind: check\nlogicalId: x\nc: *a\nd: {<<: *a}\n',
  '\x01{"kind": "check", "logicalId": "j", "checkType": "TCP", "groupId": {"ref": "g"}}',
  '\x01kind: private-location\nlogicalId: l\nname: |\n  two\n  lines\nslugName: >-\n  folded\n',
];

export const dictionary = [
  '&a ',
  '*a',
  '<<: ',
  '- ',
  ': ',
  '\n',
  '\n  ',
  '---\n',
  '...\n',
  '%YAML 1.1\n',
  '!!binary ',
  '!!set ',
  '!!timestamp ',
  '? ',
  '| ',
  '>-\n',
  '[',
  ']',
  '{',
  '}',
  '"',
  "'",
  '__proto__: ',
  '{env: TOKEN}',
  'kind: check\n',
  'checkType: BROWSER\n',
  'suite: ../..\n',
  'scriptFile: ',
  '.inf',
  '0x',
];
