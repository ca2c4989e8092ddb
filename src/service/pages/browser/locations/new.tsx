import { go } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { sayDone } from '../parts/messages.tsx';
import { Problem } from '../parts/notice.tsx';
import { LocationForm } from './form.tsx';
import { PageHead } from '../parts/page-head.tsx';

/** A new location. */
export function Page() {
  const mayChange = useMay('ADMIN');
  return (
    <>
      <PageHead trail={[{ href: '/locations', title: 'Locations' }]} title="New location" />
      {mayChange ? (
        <LocationForm
          onSaved={({ id, name }) => {
            sayDone(`Created the location ${name}. Its agents need a key.`);
            go(`/locations/${id}?tab=keys`);
          }}
        />
      ) : (
        <Problem title="Your key may not create locations">This needs a key with the role ADMIN.</Problem>
      )}
    </>
  );
}
