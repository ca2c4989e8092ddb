import { useLoad } from '../base/load.ts';
import { get, send } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { ask } from './dialog.tsx';
import { Copy } from './copy.tsx';
import { sayDone, sayFailed } from './messages.tsx';
import { Shown } from './notice.tsx';
import { removeEntry } from './removal.tsx';

/** The trigger URL of a check or a group: see, make, replace and delete it. */

type Trigger = { readonly url: string; readonly created_at: string; readonly called_at: string | null };

const kinds = {
  check: { list: '/v1/triggers/checks', parameter: 'checkId' },
  group: { list: '/v1/triggers/check-groups', parameter: 'groupId' },
} as const;

export function TriggerUrl({ of, id }: { of: 'check' | 'group'; id: string | number }) {
  const mayWrite = useMay('READ_WRITE');
  const mayRun = useMay('READ_RUN');
  const { list, parameter } = kinds[of];
  const path = `${list}/${id}`;
  const loaded = useLoad(path, async (signal) => {
    const [trigger] = await get<Trigger[]>(`${list}?${parameter}=${id}`, signal);
    return trigger ?? null;
  });
  const make = async () => {
    try {
      const made = await send<Trigger>('POST', path, {});
      loaded.set(() => made);
      sayDone('Made the trigger URL');
    } catch (error) {
      sayFailed(error);
      loaded.reload();
    }
  };
  const replace = async () => {
    const isSure = await ask({
      title: 'Replace the trigger URL?',
      text: 'The present URL stops working at once.',
      action: 'Replace',
      isDangerous: true,
    });
    if (!isSure) return;
    try {
      await send('DELETE', path);
      await make();
    } catch (error) {
      sayFailed(error);
      loaded.reload();
    }
  };
  const remove = async () => {
    const text = 'The URL stops working at once.';
    if (await removeEntry({ path, name: 'the trigger URL', text })) loaded.set(() => null);
  };
  return (
    <section class="card" aria-labelledby="trigger">
      <h2 id="trigger">Trigger URL</h2>
      <Shown of={loaded} what="the trigger URL">
        {(trigger) =>
          trigger === null ? (
            <>
              <p class="soft">
                A program that knows the URL can run{' '}
                {of === 'check' ? 'this check' : 'all checks of this group'}, for example after a deployment.
              </p>
              {mayWrite && (
                <div class="buttons">
                  <button type="button" onClick={() => void make()}>
                    Make a trigger URL
                  </button>
                </div>
              )}
            </>
          ) : (
            <>
              {mayRun ? (
                <Copy text={trigger.url} label="Trigger URL" />
              ) : (
                <p class="soft">Your key may not run checks, so the URL is not shown.</p>
              )}
              <p class="soft">
                Call it with GET or POST. Whoever knows it can run{' '}
                {of === 'check' ? 'this check' : 'the checks of this group'}. Made on {trigger.created_at},{' '}
                {trigger.called_at === null ? 'never called' : `last called on ${trigger.called_at}`}.{' '}
                <a href="/help/triggers.html">More about triggers</a>
              </p>
              {mayWrite && (
                <div class="buttons">
                  <button type="button" onClick={() => void replace()}>
                    Replace
                  </button>
                  <button type="button" class="danger" onClick={() => void remove()}>
                    Delete
                  </button>
                </div>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}
