import { useState } from 'preact/hooks';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { AreaField, TextField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Empty } from '../parts/notice.tsx';
import { Ago } from '../parts/time.tsx';
import { EntryList, useEntries } from './entries.tsx';
import { ActionsHead, removeEntry, RowButtons } from '../parts/removal.tsx';
import type { Certificate } from './types.ts';

/** Client certificates that API checks offer to hosts. Keys are written and never shown. */

const path = '/v1/client-certificates';

export function Certificates() {
  const loaded = useEntries<Certificate & { readonly expiresAt: string }>(path);
  const mayWrite = useMay('READ_WRITE');
  const [edited, setEdited] = useState<Certificate | 'new' | null>(null);
  const remove = async ({ id, host }: Certificate) => {
    const text = 'API checks no longer offer it.';
    if (await removeEntry({ path: `${path}/${id}`, name: `the certificate of ${host}`, text }))
      loaded.reload();
  };
  return (
    <>
      <div class="line tab-head">
        <p class="soft">API checks offer the certificate whose host fits best.</p>
        {mayWrite && (
          <button type="button" class="main" onClick={() => setEdited('new')}>
            New certificate
          </button>
        )}
      </div>
      <EntryList of={loaded} what="certificates">
        {(certificates) =>
          certificates.length === 0 ? (
            <div class="card">
              <Empty title="No client certificates yet">You need one for targets with mutual TLS.</Empty>
            </div>
          ) : (
            <div class="card flush">
              <table class="stacked" aria-label="Client certificates">
                <thead>
                  <tr>
                    <th scope="col">Host</th>
                    <th scope="col">Subject</th>
                    <th scope="col">Issuer</th>
                    <th scope="col">Expires</th>
                    {mayWrite && <ActionsHead />}
                  </tr>
                </thead>
                <tbody>
                  {certificates.map((certificate) => (
                    <tr key={certificate.id}>
                      <td data-title="Host">{certificate.host}</td>
                      <td data-title="Subject">
                        {certificate.subject}
                        <div class="soft">
                          <code class="long">{certificate.fingerprint}</code>
                        </div>
                      </td>
                      <td data-title="Issuer">{certificate.issuer}</td>
                      <td data-title="Expires">
                        <Ago at={certificate.expiresAt} />
                      </td>
                      {mayWrite && (
                        <td>
                          <RowButtons
                            name={`the certificate of ${certificate.host}`}
                            onChange={() => setEdited(certificate)}
                            onDelete={() => void remove(certificate)}
                          />
                        </td>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </EntryList>
      {edited !== null && (
        <CertificateDialog
          certificate={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={() => {
            setEdited(null);
            sayDone('Saved the certificate');
            loaded.reload();
          }}
        />
      )}
    </>
  );
}

function CertificateDialog({
  certificate,
  onClose,
  onSaved,
}: {
  certificate: Certificate | null;
  onClose: () => void;
  onSaved: () => void;
}) {
  const form = useForm({
    host: certificate?.host ?? '',
    cert: certificate?.cert ?? '',
    key: '',
    ca: certificate?.ca ?? '',
    passphrase: '',
  });
  const { body, change, errors } = form;
  const [method, to] =
    certificate === null ? (['POST', path] as const) : (['PUT', `${path}/${certificate.id}`] as const);
  // In a change, what is never shown and was left empty stays as it is.
  const sent = (isShown: boolean) => {
    const hidden = (text: string) => (isShown ? '*********' : text);
    return {
      host: body.host,
      cert: body.cert,
      ca: body.ca === '' ? null : body.ca,
      ...(certificate === null || body.key !== '' ? { key: hidden(body.key) } : {}),
      ...(body.passphrase === '' ? {} : { passphrase: hidden(body.passphrase) }),
    };
  };
  const submit = async () => {
    if ((await form.save(method, to, sent(false))) !== undefined) onSaved();
  };
  const area = (field: 'cert' | 'key' | 'ca') => ({
    value: body[field],
    error: errorAt(errors, field),
    rows: 5,
    placeholder: field === 'key' ? '-----BEGIN PRIVATE KEY-----' : '-----BEGIN CERTIFICATE-----',
    onChange: (text: string) => change({ [field]: text }),
  });
  return (
    <Dialog
      title={certificate === null ? 'New certificate' : `Change the certificate of ${certificate.host}`}
      onClose={onClose}
      wide
    >
      <Form
        message={form.message}
        onSubmit={() => void submit()}
        buttons={
          <Button type="submit" class="main" isOff={form.isBusy}>
            {certificate === null ? 'Add certificate' : 'Save'}
          </Button>
        }
      >
        <TextField
          label="Host"
          required
          placeholder="*.shop.example"
          hint="With :port if it is for that port only; * stands for any characters and ? for one."
          value={body.host}
          error={errorAt(errors, 'host')}
          onChange={(host) => change({ host })}
        />
        <AreaField label="Certificate and its chain" required {...area('cert')} />
        <AreaField
          label="Private key"
          required={certificate === null}
          hint={
            certificate === null
              ? 'It is encrypted and never shown again.'
              : 'It is never shown. Empty: it stays as it is. A new certificate needs its own key.'
          }
          {...area('key')}
        />
        <TextField
          label="Passphrase of the key"
          type="password"
          hint={
            certificate?.hasPassphrase ? 'Empty: it stays as it is, unless you give a new key.' : undefined
          }
          value={body.passphrase}
          error={errorAt(errors, 'passphrase')}
          onChange={(passphrase) => change({ passphrase })}
        />
        <AreaField
          label="Authorities"
          hint="Trusted in addition to the usual ones for this host."
          {...area('ca')}
        />
        <AsText method={method} path={to} body={sent(true)} />
      </Form>
    </Dialog>
  );
}
