import { join } from 'node:path';
import { canCreateReporters, inWorker, suiteSettings } from './playwright.ts';
import { runFiles } from './format.ts';
import { offerHelpers } from './helpers.ts';
import { watchTests } from './worker.ts';

/**
 * Applies the agent's settings on top of a project's Playwright config. The files that replace its configs call this in
 * the command's process and in every test process, so it is fast and returns the same in all of them.
 */

type Settings = { [name: string]: unknown };

const isSettings = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** For a config that is a CommonJS module, as Playwright sees it: keeps its other exports. */
export function wrap(module: { exports: unknown }, load: () => unknown): void {
  const own = module.exports as Settings;
  // A file that the config loads may require it at the same time and keep the result.
  Object.defineProperty(own, '__esModule', { value: true, configurable: true, writable: true });
  const given = load();
  if (!isSettings(given) || !('default' in given)) {
    module.exports = overlay(given);
    return;
  }
  for (const [name, described] of Object.entries(Object.getOwnPropertyDescriptors(given))) {
    if (name !== '__esModule' && name !== 'default')
      Object.defineProperty(own, name, { ...described, configurable: true });
  }
  Object.defineProperty(own, '__esModule', { value: given['__esModule'] === true });
  const config = overlay(given['default']);
  Object.defineProperty(own, 'default', {
    value: config,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** The same for an ES module's namespace: returns its default export with our settings applied. */
export function overlayModule(namespace: Settings): unknown {
  return overlay('default' in namespace ? namespace['default'] : namespace);
}

function overlay(given: unknown): unknown {
  prepare();
  if (!isSettings(given)) return given; // Playwright reports the error.
  if (typeof given['then'] === 'function') return Promise.resolve(given).then(laid);
  return laid(given);
}

function laid(given: unknown): unknown {
  if (!isSettings(given)) return given;
  const settings = suiteSettings();
  const config = copyOf(given);
  config['workers'] ??= settings.workers;
  config['retries'] ??= settings.retries;
  const use = forced(isSettings(given['use']) ? given['use'] : {}, 'the config');
  use['trace'] ??= 'on';
  use['video'] ??= 'on-first-retry';
  // Playwright has no such mode for screenshots; this is the nearest one that every release has.
  use['screenshot'] ??= 'only-on-failure';
  config['use'] = use;
  if (Array.isArray(given['projects'])) {
    config['projects'] = given['projects'].map((project: unknown) =>
      isSettings(project) && isSettings(project['use'])
        ? Object.assign(copyOf(project), {
            use: forced(project['use'], `the project ${String(project['name'] ?? '')}`),
          })
        : project,
    );
  }
  if (!inWorker() && !canCreateReporters()) config['reporter'] = withReports(given['reporter']);
  return config;
}

/** Copies with symbols and prototype: `defineConfig` leaves marks. */
const copyOf = (settings: Settings): Settings =>
  Object.assign(Object.create(Object.getPrototypeOf(settings)) as Settings, settings);

/** Forces the settings of `use` that a project cannot choose: a trace, and a headless browser. */
function forced(given: Settings, where: string): Settings {
  const use = copyOf(given);
  const trace = use['trace'];
  if (isSettings(trace)) use['trace'] = { ...trace, mode: 'on' };
  else if (trace !== undefined) use['trace'] = 'on';
  const launch = use['launchOptions'];
  if (isSettings(launch) && launch['headless'] === false) {
    use['launchOptions'] = { ...launch, headless: true };
    note(`headless: false of ${where} is ignored: browsers run without a window here`);
  }
  if (use['headless'] === false) {
    use['headless'] = true;
    note(`headless: false of ${where} is ignored: browsers run without a window here`);
  }
  return use;
}

/** For a release whose reporters ours cannot create: adds them to the config's own. */
function withReports(given: unknown): unknown {
  const { reportFolder } = suiteSettings();
  const stamp = `${Date.now()}-${process.pid}`;
  const own = typeof given === 'string' ? [[given]] : Array.isArray(given) ? given : [['list']];
  if (own.some((each: unknown) => JSON.stringify(each)?.includes(JSON.stringify(reportFolder).slice(1, -1))))
    return given; // One config extends another.
  return [
    ...(own as unknown[]),
    ['json', { outputFile: join(reportFolder, runFiles.json(stamp)) }],
    ['html', { open: 'never', outputFolder: join(reportFolder, runFiles.html(stamp)) }],
  ];
}

function note(text: string): void {
  const key = Symbol.for('location-agent.notes');
  const notes = (Reflect.get(globalThis, key) ?? []) as string[]; // set by this function
  if (!notes.includes(text)) Reflect.set(globalThis, key, [...notes, text]);
}

let prepared = false;

/** Once per process. */
function prepare(): void {
  if (prepared) return;
  prepared = true;
  try {
    const { reporter, helpers } = suiteSettings();
    process.env['PW_TEST_REPORTER'] ??= reporter;
    // Otherwise Playwright would serve the report until somebody stops it.
    process.env['PLAYWRIGHT_HTML_OPEN'] = 'never';
    process.env['PW_TEST_HTML_REPORT_OPEN'] = 'never';
    offerHelpers(helpers);
    if (inWorker()) watchTests();
  } catch {
    // The tests run as usual.
  }
}
