import type { Tools } from '../base/element.ts';
import { count, list, object, text, type Fields } from '../base/outside.ts';

/** Numbers, tools and stages of a suite's run. */
export function suiteHead({ element, milliseconds }: Tools, details: Fields): HTMLElement[] {
  const { totals, stages } = details;
  const { tests } = object(totals);
  const numbers = numbersOf(totals).map(({ name, number, colour }) =>
    element('span', { class: `status ${number > 0 ? colour : 'idle'}` }, `${number} ${name}`),
  );
  const tools = toolsOf(details);
  const chips = list(stages)
    .slice(0, 20)
    .map((stage) => {
      const { name, durationMs } = object(stage);
      return element('span', { class: 'chip' }, `${text(name, 40)} ${milliseconds(durationMs)}`);
    });
  return [
    element(
      'div',
      { class: 'line numbers' },
      element('b', {}, count(tests) + (tests === 1 ? ' test' : ' tests')),
      ...numbers,
    ),
    tools.length === 0 ? null : element('div', { class: 'line soft' }, tools.join(', ')),
    chips.length === 0
      ? null
      : element('div', { class: 'line' }, element('span', { class: 'soft' }, 'Stages'), ...chips),
  ].filter((node) => node !== null);
}

/** The first three are always shown, the others only if they are not zero. */
function numbersOf(totals: unknown): { name: string; number: number; colour: string }[] {
  const { passed, degraded, failed, flaky, timedOut, interrupted, skipped } = object(totals);
  const rows = [
    { name: 'passed', number: count(passed), colour: 'passed' },
    { name: 'degraded', number: count(degraded), colour: 'degraded' },
    { name: 'failed', number: count(failed), colour: 'failed' },
    { name: 'flaky', number: count(flaky), colour: 'degraded' },
    { name: 'timed out', number: count(timedOut), colour: 'failed' },
    { name: 'interrupted', number: count(interrupted), colour: 'failed' },
    { name: 'skipped', number: count(skipped), colour: 'idle' },
  ];
  return rows.filter(({ number }, index) => index < 3 || number > 0);
}

function toolsOf({ playwrightVersion, engine, packageManager, dependencyCache, exitCode }: Fields): string[] {
  const tool = (value: unknown) => {
    const { name, version } = object(value);
    return name ? text(name, 40) + (version ? ` ${text(version, 40)}` : '') : '';
  };
  return [
    playwrightVersion ? `Playwright ${text(playwrightVersion, 40)}` : '',
    tool(engine),
    tool(packageManager),
    dependencyCache ? `dependency cache: ${text(dependencyCache, 40)}` : '',
    typeof exitCode === 'number' ? `exit code ${exitCode}` : '',
  ].filter(Boolean);
}
