import { send } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { sayDone, sayFailed } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { TextField } from '../parts/form/inputs.tsx';
import { all } from './pages.ts';

/** Who is told of incidents by mail. */

type Subscriber = { id: string; email: string; confirmedAt: string | null };

export function Subscribers({ pageId }: { pageId: string }) {
  const mayWrite = useMay('READ_WRITE');
  const path = `/v1/status-pages/${pageId}/subscriptions`;
  const subscribers = useLoad(path, (signal) => all<Subscriber>(path, signal));
  const form = useForm({ email: '' });
  const add = async () => {
    if ((await form.save('POST', path)) === undefined) return;
    sayDone('A mail asks the address to confirm.');
    form.reset({ email: '' });
    subscribers.reload();
  };
  const remove = async ({ id, email }: Subscriber) => {
    try {
      await send('DELETE', `${path}/${id}`);
      sayDone(`Deleted: ${email}`);
      subscribers.reload();
    } catch (error) {
      sayFailed(error);
    }
  };
  return (
    <section class="card">
      <h2>Subscribers</h2>
      <Shown of={subscribers} what="the subscribers">
        {(entries) =>
          entries.length === 0 ? (
            <p class="soft">None.</p>
          ) : (
            <ul class="rows">
              {entries.map((one) => (
                <li key={one.id}>
                  <span class="row-name">{one.email}</span>
                  <span class="soft">{one.confirmedAt === null ? 'not confirmed' : 'confirmed'}</span>
                  {mayWrite && (
                    <button type="button" class="plain" onClick={() => void remove(one)}>
                      Delete <span class="hidden-text">{one.email}</span>
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
      {mayWrite && (
        <Form
          message={form.message}
          onSubmit={() => void add()}
          buttons={
            <Button type="submit" isOff={form.isBusy}>
              Ask to subscribe
            </Button>
          }
        >
          <TextField
            label="Email address"
            value={form.body.email}
            error={errorAt(form.errors, 'email')}
            onChange={(email) => form.change({ email })}
          />
          <AsText method="POST" path={path} body={form.body} />
        </Form>
      )}
    </section>
  );
}
