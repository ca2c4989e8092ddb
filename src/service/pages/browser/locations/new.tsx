import { go } from '../base/router.ts';
import { sayDone } from '../parts/messages.tsx';
import { LocationForm } from './form.tsx';
import { PageHead } from '../parts/page-head.tsx';

/** A new location. */
export function Page() {
  return (
    <>
      <PageHead trail={[{ href: '/locations', title: 'Locations' }]} title="New location" />
      <LocationForm
        onSaved={({ id, name }) => {
          sayDone(`Created the location ${name}. Its agents need a key.`);
          go(`/locations/${id}?tab=keys`);
        }}
      />
    </>
  );
}
