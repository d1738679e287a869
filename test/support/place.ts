import { thisWriter } from '../../src/runs/index.ts';
import { openDisk } from '../../src/store/disk.ts';
import { openPostgres, openStore, type Store } from '../../src/store/index.ts';

/** A store by one word, for processes of their own: a data directory, or a PostgreSQL URL with a folder for blobs after a #. */
export async function openPlace(place: string): Promise<Store> {
  if (!place.startsWith('postgres://')) return openStore(place, thisWriter());
  const [url = '', blobs = ''] = place.split('#');
  return openPostgres(url, openDisk(blobs, thisWriter()), { connections: 4 });
}
