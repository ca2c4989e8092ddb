import { useState } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { bytes } from '../base/words.ts';
import { Field } from '../parts/form/field.tsx';
import { readBundles, uploadBundle, type Bundle } from './choices.ts';
import type { Row } from './fields/row.ts';

/** The code bundle of a suite: one that is uploaded already, or a file. */
export function BundleField({
  row,
  value,
  error,
  onChange,
}: {
  row: Row;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}) {
  const bundles = useLoad('bundles', readBundles);
  const [state, setState] = useState<{ isBusy: boolean; problem?: string; uploaded?: Bundle }>({
    isBusy: false,
  });
  const known = (bundles.value ?? []).filter(({ key }) => key !== state.uploaded?.key);
  const listed = state.uploaded === undefined ? known : [state.uploaded, ...known];
  const isListed = value === '' || listed.some(({ key }) => key === value);
  const upload = async (file: File) => {
    setState({ isBusy: true });
    try {
      const uploaded = await uploadBundle(file);
      setState({ isBusy: false, uploaded });
      onChange(uploaded.key);
    } catch (reason) {
      setState({ isBusy: false, problem: reason instanceof Error ? reason.message : String(reason) });
    }
  };
  return (
    <>
      <Field label={row.label} hint={row.hint} error={state.problem ?? error} required>
        {(attributes) => (
          <select
            {...attributes}
            value={value}
            onChange={({ currentTarget }) => onChange(currentTarget.value)}
          >
            <option value="">choose a bundle, or upload a file below</option>
            {!isListed && <option value={value}>{value}</option>}
            {listed.map(({ key, size, created_at }) => (
              <option key={key} value={key}>
                {new Date(created_at).toLocaleString()}, {bytes(size)}, {key.slice(0, 12)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Upload a file" hint={state.isBusy ? 'Uploading …' : undefined}>
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".gz,.tgz"
            aria-disabled={state.isBusy || undefined}
            onClick={(event) => state.isBusy && event.preventDefault()}
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              if (file !== undefined) void upload(file);
            }}
          />
        )}
      </Field>
    </>
  );
}
