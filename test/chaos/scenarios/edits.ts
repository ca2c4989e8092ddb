import type { ChaosCheck, Edit } from '../facts.ts';
import { sleep } from '../programs.ts';
import type { World } from '../world.ts';

/** Checks that are edited all the time: their URLs name their form, by themselves or by a variable of the account. */

const variable = 'CHAOS_FORM';
/** Of those whose targets change too, and of others. */
const byUrl = /^url-([0-1]|[4-9])$/;
const byVariable = /^url-1[0-2]$/;
/** Milliseconds between two edits. */
const [least, most] = [800, 2_500];

/** Edits some of the URL checks until it is stopped; resolves when the last edit has been answered. */
export async function startEdits(world: World): Promise<() => Promise<void>> {
  const urlOf = (name: string, form: string) =>
    `http://127.0.0.1:${world.targets.httpPort}/p/${name}/${form}`;
  const put = async (path: string, body: unknown): Promise<boolean> => {
    const answer = await world.api('PUT', path, body).catch(() => null);
    return answer?.status === 200;
  };
  const note = (checks: readonly ChaosCheck[], edit: Edit) => {
    for (const check of checks) check.edits = [...(check.edits ?? []), edit];
  };
  const made = await world.api('POST', '/v1/variables', { key: variable, value: '0' });
  if (made.status !== 201) throw new Error(`no variable: ${JSON.stringify(made.body)}`);
  const shared = world.checks.filter(({ name }) => byVariable.test(name));
  for (const { id, name } of shared)
    if (!(await put(`/v1/checks/url/${id}`, { request: { url: urlOf(name, `{{${variable}}}`) } })))
      throw new Error(`${name} cannot be edited`);

  const things = [
    ...world.checks
      .filter(({ name }) => byUrl.test(name))
      .map((check) => ({
        checks: [check],
        edit: (form: number) =>
          put(`/v1/checks/url/${check.id}`, { request: { url: urlOf(check.name, String(form)) } }),
      })),
    {
      checks: shared,
      edit: (form: number) => put(`/v1/variables/${variable}`, { value: String(form) }),
    },
  ];
  const forms = new Map<object, number>();
  let isOn = true;
  const loop = async (): Promise<void> => {
    while (isOn) {
      await sleep(world.random.whole(least, most));
      const thing = world.random.pick(things);
      const form = (forms.get(thing) ?? 0) + 1;
      forms.set(thing, form);
      const isConfirmed = await thing.edit(form);
      note(thing.checks, { form, at: isConfirmed ? Date.now() : null });
    }
  };
  const ended = loop();
  return async () => {
    isOn = false;
    await ended;
  };
}
