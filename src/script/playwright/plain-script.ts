/** Scripts that use Playwright as a library, without tests. */

const testPackage = /(?:from|require\(|import\()\s*['"]@playwright\/test['"]/;
const library = /(?:from|require\(|import\()\s*['"](?:playwright|playwright-core|playwright-chromium)['"]/;
/** `test(…)`, `test.describe(…)`: not a method of something else, such as `/x/.test(…)`. */
const tests =
  /(?<![.\w$])test\s*(?:\(|\.\s*(?:describe|only|skip|fixme|fail|slow|use|extend|step|beforeEach|beforeAll)\b)/;

/** Whether to run the script as one test, because it has no tests of its own. */
export function isPlainScript(content: string): boolean {
  const code = withoutComments(content);
  if (tests.test(code)) return false;
  return library.test(code) || (testPackage.test(code) && /\.launch(?:PersistentContext)?\s*\(/.test(code));
}

function withoutComments(code: string): string {
  return code.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|[^:'"`\\])\/\/[^\n]*/g, '$1');
}

/**
 * The path and content to write for the script. Top-level `await` needs an ES module or, if the script uses `require`,
 * an async function around it. Line numbers stay the same.
 */
export function plainScriptFile(path: string, content: string): { path: string; content: string } {
  const code = withoutComments(content);
  if (/\.m[jt]s$/.test(path) || !/\bawait\b/.test(code)) return { path, content };
  const isModule = /^\s*(?:import\s*(?:[\w*{'"]|$)|export\s)/m.test(code);
  if (isModule) {
    const waitsAtTop = /^(?:(?:const|let|var)\s[^;=]*=\s*)?(?:await|for\s+await)\b/m.test(code);
    return { path: waitsAtTop ? path.replace(/\.c?([jt])sx?$/, '.m$1s') : path, content };
  }
  const text = content.startsWith('#!') ? `//${content}` : content;
  return { path, content: `module.exports = (async () => { ${text}\n})();\n` };
}

/** The test file that runs the script `file` in the same folder as one test with the file's name as title. */
export function plainScriptTest(file: string, timeoutMs: number): { path: string; content: string } {
  const isModule = /\.m[jt]s$/.test(file);
  const name = 'location-agent-plain';
  const place = JSON.stringify(`./${file}`);
  const lines = [
    ...(isModule
      ? [`import { test } from '@playwright/test';`]
      : [
          `const { test } = require('@playwright/test');`,
          // Lines in errors are right only for files that the runner has compiled as well.
          `if (globalThis[Symbol.for('location-agent.plainScript')] === undefined) try {`,
          `  const { dirname, join } = require('node:path');`,
          `  const runner = dirname(require.resolve('playwright/package.json'));`,
          `  const file = require.resolve(${place});`,
          `  const text = require('node:fs').readFileSync(file, 'utf8');`,
          `  require(join(runner, 'lib/transform/transform.js')).transformHook(text, file);`,
          `} catch {}`,
        ]),
    `test(${JSON.stringify(file)}, async () => {`,
    `  test.setTimeout(${timeoutMs});`,
    `  const run = globalThis[Symbol.for('location-agent.plainScript')];`,
    `  await run(() => ${isModule ? `import(${place})` : `require(${place})`});`,
    `});`,
    '',
  ];
  return { path: `${name}.${isModule ? 'mjs' : 'cjs'}`, content: lines.join('\n') };
}
