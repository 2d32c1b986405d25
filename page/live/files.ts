import { signal, type ReadonlySignal } from '@preact/signals'
import { type Carrier, type Descriptor, listKey } from '../mcp/carrier.ts'
import { refresher } from './refresh.ts'

const scheme = 'artefact://'

/** The stored files, newest first; null until they are known. */
export function followFiles(carrier: Carrier): ReadonlySignal<readonly Descriptor[] | null> {
  const files = signal<readonly Descriptor[] | null>(null)
  const refresh = refresher(1000, async () => {
    files.value = (await carrier.list()).filter(({ uri }) => uri.startsWith(scheme))
  })
  carrier.follow(listKey, refresh)
  return files
}

/** The hash at the end of the URI. */
export function hashOf({ uri }: Pick<Descriptor, 'uri'>): string {
  return uri.slice(uri.lastIndexOf('/') + 1)
}
